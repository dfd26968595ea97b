package fleet

import (
	"sync"
	"sync/atomic"
)

// A Counter has one count for each key of a fixed set.
type Counter[K comparable] struct {
	mu     sync.RWMutex
	counts map[K]*atomic.Uint64
}

// Add counts one event of key. Keys must come only from the configuration and from
// constants, never from a client.
func (c *Counter[K]) Add(key K) {
	c.mu.RLock()
	n := c.counts[key]
	c.mu.RUnlock()
	if n == nil {
		c.mu.Lock()
		if c.counts == nil {
			c.counts = map[K]*atomic.Uint64{}
		}
		if n = c.counts[key]; n == nil {
			n = new(atomic.Uint64)
			c.counts[key] = n
		}
		c.mu.Unlock()
	}
	n.Add(1)
}

// All returns a copy of the counts.
func (c *Counter[K]) All() map[K]uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make(map[K]uint64, len(c.counts))
	for key, n := range c.counts {
		all[key] = n.Load()
	}
	return all
}
