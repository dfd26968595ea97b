package authsvc

import (
	"sync"
	"time"
)

// maxOnce bounds the keys that onceSet remembers.
const maxOnce = 100_000

// onceSet is the single-use set of a service without storage: bounded, and of
// this process only, which docs say. It is also used for what is to be done
// once a while.
type onceSet struct {
	mu   sync.Mutex
	keys map[string]time.Time
}

// use records key; ErrConflict if it was used before. A full set refuses:
// forgetting keys would let a replay through.
func (o *onceSet) use(key string, now, expires time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e, ok := o.keys[key]; ok && now.Before(e) {
		return ErrConflict
	}
	if len(o.keys) >= maxOnce {
		for k, e := range o.keys {
			if !now.Before(e) {
				delete(o.keys, k)
			}
		}
		if len(o.keys) >= maxOnce {
			return ErrQueueFull
		}
	}
	o.keys[key] = expires
	return nil
}

// forget lets key be used again.
func (o *onceSet) forget(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.keys, key)
}
