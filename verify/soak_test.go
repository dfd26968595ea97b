package verify

import (
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// soakUser signs in at the provider, reads the session a few times, and signs out.
func soakUser(n *process.Neighbours, v *browser.Browser, who string) error {
	if err := v.SignIn(n.OP, who); err != nil {
		return fmt.Errorf("sign-in: %w", err)
	}
	for range 20 {
		if email, err := v.Email(); err != nil || email == "" {
			return fmt.Errorf("session of %q: %w", email, err)
		}
	}
	for _, path := range []string{"/api/auth/signin", "/api/auth/providers", "/api/auth/error?error=AccessDenied", "/api/auth/nothing"} {
		if _, err := v.Get(path); err != nil {
			return err
		}
	}
	return v.SignOut()
}

// TestSoak checks that under full load the process needs no more memory, threads and
// files after some time than at the beginning, and that nothing fails.
func TestSoak(t *testing.T) {
	span := []time.Duration{3 * time.Second, 20 * time.Second, 10 * time.Minute}[theScale()]
	if lack := needsProc.lack(); lack != "" {
		t.Skip(lack)
	}
	n := process.NewNeighbours(t)
	p := process.Serve(t, n.YAML(""), "AUTHSVC_STORAGE_URL=sqlite:"+filepath.Join(t.TempDir(), "auth.db"), "GODEBUG=gctrace=1")
	var lives atomic.Int64
	load := func(span time.Duration) {
		var all sync.WaitGroup
		end := time.Now().Add(span)
		for i := range 8 {
			all.Go(func() {
				shared := &http.Transport{}
				defer shared.CloseIdleConnections()
				for k := 0; time.Now().Before(end); k++ {
					if err := soakUser(n, browser.New(p.URL, shared), []string{"ada", "grace", "alan"}[(i+k)%3]); err != nil {
						t.Error(err)
						return
					}
					lives.Add(1)
				}
			})
		}
		all.Wait()
	}
	load(span / 3)
	heap, rss, threads, files := liveHeap(t, p), settledRSS(t, p), procStatus(t, p, "Threads"), procFiles(t, p)
	load(span)
	heapNow, rssNow, threadsNow := liveHeap(t, p), settledRSS(t, p), procStatus(t, p, "Threads")
	fmt.Printf("soak         %v, %d sign-ins with 20 reads and sign-out: heap %d MB, then %d; RSS %d MB, then %d; threads %d, then %d; files %d, then %d\n",
		span, lives.Load(), heap, heapNow, rss>>10, rssNow>>10, threads, threadsNow, files, procFiles(t, p))
	if !measures() {
		return
	}
	if heapNow > heap+heap/10+2 || rssNow > rss+rss/10+4096 {
		t.Errorf("heap %d MB, then %d; RSS %d KB, then %d", heap, heapNow, rss, rssNow)
	}
	if threadsNow > threads+4 {
		t.Errorf("%d threads, then %d", threads, threadsNow)
	}
	procSettles(t, p, files+4, 5*time.Second)
}

// TestGoroutines checks that goroutines that the handler starts for a request end
// with it.
func TestGoroutines(t *testing.T) {
	w := arena.Enter(t, nil)
	live := func() {
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		b.Post("/api/auth/signin/email", "email", "ada@app.test")
		b.Post("/api/auth/signout")
	}
	live()
	calm := runtime.NumGoroutine()
	for range []int{20, 500, 5000}[theScale()] {
		live()
	}
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > calm+5; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d at the beginning", runtime.NumGoroutine(), calm)
		}
	}
}
