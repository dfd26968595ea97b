package redis

import (
	"context"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// maxPipelines is the number of pipelines in flight, unless the server is slow.
	maxPipelines = 2
	// maxPipelined is the number of reads in one pipeline.
	maxPipelined = 64
	// patience is the time after which a pipeline without an answer no longer holds up
	// others.
	patience = 50 * time.Millisecond
)

// A gatherer sends the reads of concurrent callers in pipelines: those that arrive while
// maxPipelines are in flight share the next one. Under load, both sides then make fewer
// system calls. A caller that is alone waits for no other.
type gatherer struct {
	mu      sync.Mutex
	waiting []*gathered
	flying  int       // pipelines in flight
	began   time.Time // start of the last pipeline
}

// A gathered read is in a pipeline or waits for one.
type gathered struct {
	ctx     context.Context // of its caller
	command single
	done    chan struct{} // closed after the answer or error is in command
}

// send sends a read. It returns when the read is answered or ctx is done.
func (g *gatherer) send(ctx context.Context, client goredis.UniversalClient, command *goredis.Cmd) (any, error) {
	r := &gathered{ctx, single{command}, make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, r)
	fly := g.flying < maxPipelines || time.Since(g.began) > patience
	if fly {
		g.flying++
		g.began = time.Now()
	}
	g.mu.Unlock()
	if fly {
		go g.fly(client) // #nosec G118 -- others wait for it too
	}
	select {
	case <-r.done:
		return command.Result()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fly sends pipelines until no read waits. The contexts of callers do not end a
// pipeline, since others wait for it; the client's time limits do.
func (g *gatherer) fly(client goredis.UniversalClient) {
	for list := g.next(); len(list) > 0; list = g.next() {
		ctx := context.Background()
		if len(list) == 1 {
			_ = client.Process(ctx, list[0].command) // the command holds the error
		} else {
			pipeline := client.Pipeline()
			for _, r := range list {
				_ = pipeline.Process(ctx, r.command) // only queues it
			}
			_, _ = pipeline.Exec(ctx) // each command holds its error
		}
		for _, r := range list {
			close(r.done)
		}
	}
}

// next returns the reads of the next pipeline, without those whose callers have left. If
// there are none, the calling goroutine's turn ends.
func (g *gatherer) next() (list []*gathered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.waiting) > 0 && len(list) < maxPipelined {
		if r := g.waiting[0]; r.ctx.Err() == nil {
			list = append(list, r)
		}
		g.waiting[0], g.waiting = nil, g.waiting[1:]
	}
	if len(list) == 0 {
		g.waiting = nil
		g.flying--
	}
	g.began = time.Now()
	return list
}
