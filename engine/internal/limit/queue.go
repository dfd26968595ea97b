package limit

import (
	"math/rand/v2"
	"slices"
	"sync"
)

const maxQueuedLogins = 256 // in this process

const maxQueuedOfOne = 32 // for one account

// A Queue holds the waiting sign-ins of this process. When it is full, each new sign-in
// removes a random one, so that one client cannot occupy the queue.
type Queue struct {
	mu      sync.Mutex
	waiting []*Place
}

// A Place is the place of a waiting sign-in in the queue. Left is closed when the place
// is removed.
type Place struct {
	account, client string
	Left            chan struct{}
}

// Enter adds a sign-in. It returns nil if this client already waits for the account.
func (q *Queue) Enter(account, client string) *Place {
	q.mu.Lock()
	defer q.mu.Unlock()
	var same []int
	for i, a := range q.waiting {
		if a.account != account {
			continue
		}
		if a.client == client {
			return nil
		}
		same = append(same, i)
	}
	switch {
	case len(same) >= maxQueuedOfOne:
		q.remove(same[rand.IntN(len(same))])
	case len(q.waiting) >= maxQueuedLogins:
		q.remove(rand.IntN(len(q.waiting)))
	}
	a := &Place{account, client, make(chan struct{})}
	q.waiting = append(q.waiting, a)
	return a
}

func (q *Queue) remove(i int) {
	close(q.waiting[i].Left)
	q.waiting = slices.Delete(q.waiting, i, i+1)
}

// Leave removes a sign-in that no longer waits.
func (q *Queue) Leave(a *Place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, a); i >= 0 {
		q.remove(i)
	}
}
