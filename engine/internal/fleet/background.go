package fleet

import (
	"context"
	"errors"
	"sync"
	"time"
)

// background holds the work of a service outside of requests.
type background struct {
	ctx           context.Context // stop ends it
	stop          context.CancelFunc
	sending       context.Context // of mails being sent, which outlive ctx; CancelSending ends it
	cancelSending context.CancelFunc
	workers       sync.WaitGroup

	mu      sync.Mutex // guards running, and the start of tasks against stop
	running int        // number of tasks
}

// Open creates the contexts of the background work. It starts no work; Go and RunTask
// do, and must be called after Open.
func (fl *Fleet) Open() {
	fl.background.ctx, fl.background.stop = context.WithCancel(context.Background())
	fl.background.sending, fl.background.cancelSending = context.WithCancel(context.Background()) // #nosec G118 -- Close calls it
}

// Life returns the context of the background work, which StopTasks ends.
func (fl *Fleet) Life() context.Context { return fl.background.ctx }

// Sending returns the context of mails being sent, which CancelSending ends.
func (fl *Fleet) Sending() context.Context { return fl.background.sending }

// CancelSending ends the context of mails being sent.
func (fl *Fleet) CancelSending() { fl.background.cancelSending() }

// workerPause is how long a worker that panicked waits before it starts again.
const workerPause = 5 * time.Second

// Go runs a worker, which must return when life ends. If the worker panics, as a
// store's code may, Go logs the panic and starts the worker again after workerPause.
func (fl *Fleet) Go(what string, work func(life context.Context)) {
	life := fl.background.ctx
	fl.background.workers.Go(func() {
		for fl.panics(what, func() { work(life) }) && Sleep(life, workerPause) {
			continue
		}
	})
}

// panics calls run and reports whether it panicked.
func (fl *Fleet) panics(what string, run func()) (panicked bool) {
	defer fl.Recovered(what, func() { panicked = true })
	run()
	return false
}

// Wait waits for all workers and tasks.
func (fl *Fleet) Wait() { fl.background.workers.Wait() }

// maxTasks limits the goroutines of RunTask.
const maxTasks = 1000

// ErrNoTask is the error of a caller for which RunTask returned false.
var ErrNoTask = errors.New("authsvc: the service is shutting down or too busy")

// RunTask runs work of a request in the background, where the end of the request does
// not end it. Close cancels life and waits for run to return: run must end its waits
// with life, and use Detached for its calls. RunTask returns false, without calling
// run, if the service is ending or maxTasks are already running.
func (fl *Fleet) RunTask(what string, run func(life context.Context)) bool {
	fl.background.mu.Lock()
	defer fl.background.mu.Unlock()
	if fl.background.ctx.Err() != nil || fl.background.running >= maxTasks {
		return false
	}
	fl.background.running++
	fl.background.workers.Go(func() {
		defer func() {
			fl.background.mu.Lock()
			defer fl.background.mu.Unlock()
			fl.background.running--
		}()
		defer fl.Recovered(what, func() {})
		run(fl.background.ctx)
	})
	return true
}

// StopTasks refuses new tasks and cancels the context of the background work.
func (fl *Fleet) StopTasks() {
	fl.background.mu.Lock()
	defer fl.background.mu.Unlock()
	fl.background.stop()
}

// Sleep waits for d. It returns false if life ended first.
func Sleep(life context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-life.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Detached returns a context with timeout d for one call of a task. The end of the
// service does not cancel it.
func Detached(life context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(life), d)
}
