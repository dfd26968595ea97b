package authsvc

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Bodies of requests that are being read, in this process. They are few and
// small, unless somebody begins thousands and ends none.
const (
	maxBodies        = 1024 // at once
	maxBodiesOfOne   = 64   // of one client
	maxBodiesRefused = 64   // of requests that are going to be refused, whose bodies only say how
	bodyPatience     = 5 * time.Second
)

// bodies are the places for them.
type bodies struct {
	all, refused *semaphore.Weighted

	mu      sync.Mutex
	clients map[string]*clientBodies
}

type clientBodies struct {
	places *semaphore.Weighted
	users  int // requests that have a place or wait for one
}

func newBodies() *bodies {
	return &bodies{all: semaphore.NewWeighted(maxBodies), refused: semaphore.NewWeighted(maxBodiesRefused), clients: map[string]*clientBodies{}}
}

// enter waits for a place, for a moment. Who gets one calls leave.
func (b *bodies) enter(ctx context.Context, client string) (leave func(), ok bool) {
	// A client that has gone may have sent its request whole.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bodyPatience)
	defer cancel()
	one := b.client(client)
	if one.places.Acquire(ctx, 1) != nil {
		b.gone(client, one)
		return nil, false
	}
	if b.all.Acquire(ctx, 1) != nil {
		one.places.Release(1)
		b.gone(client, one)
		return nil, false
	}
	return func() {
		b.all.Release(1)
		one.places.Release(1)
		b.gone(client, one)
	}, true
}

// enterRefused does not wait.
func (b *bodies) enterRefused() (leave func(), ok bool) {
	return func() { b.refused.Release(1) }, b.refused.TryAcquire(1)
}

func (b *bodies) client(key string) *clientBodies {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.clients[key]
	if one == nil {
		one = &clientBodies{places: semaphore.NewWeighted(maxBodiesOfOne)}
		b.clients[key] = one
	}
	one.users++
	return one
}

func (b *bodies) gone(key string, one *clientBodies) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(b.clients, key)
	}
}
