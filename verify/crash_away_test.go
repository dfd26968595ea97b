package verify

import (
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/servertest"
)

// A crashSite is a service with its own database server and a signed-in user.
type crashSite struct {
	name   string
	server *servertest.Server
	p      *process.Process
	book   *crashBook
	ada    *browser.Browser

	mu     sync.Mutex
	probes []crashProbe
	down   []time.Time // times at which the server was killed
	up     []time.Time // times at which it answered again
}

// A crashProbe is one request of a signed-in user.
type crashProbe struct {
	begun  time.Time
	took   time.Duration
	status int
	right  bool
}

// probe requests the session until the channel is closed.
func (s *crashSite) probe(end <-chan struct{}) {
	for {
		select {
		case <-end:
			return
		case <-time.After(20 * time.Millisecond):
		}
		begun := time.Now()
		a, err := s.ada.Get("/api/auth/session")
		one := crashProbe{begun: begun, took: time.Since(begun)}
		if err == nil {
			one.status, one.right = a.StatusCode, strings.Contains(a.Text, "ada@example.com")
		}
		s.mu.Lock()
		s.probes = append(s.probes, one)
		s.mu.Unlock()
	}
}

// crashRecovers limits the time from the server's first answer until requests succeed
// again.
const crashRecovers = 5 * time.Second

// crashTold is the time in which a request is refused while the server is away. With
// MongoDB, a request waits up to 5 s for the end of an election, as its page says.
func crashTold(store string) time.Duration {
	if store == "mongodb" {
		return 5500 * time.Millisecond
	}
	return 2 * time.Second
}

// judge checks that every answer is 200 with the right user, or 503. A 503 must come
// soon, and stop soon after the server is back.
func (s *crashSite) judge(t *T) {
	t.Helper()
	var refused, felt int // felt: refused or delayed
	var longest, back time.Duration
	for _, p := range s.probes {
		if p.status != http.StatusOK || p.took > 500*time.Millisecond {
			felt++
		}
		switch {
		case p.status == http.StatusOK && p.right:
		case p.status == http.StatusServiceUnavailable:
			refused++
			longest = max(longest, p.took)
			back = max(back, s.late(p.begun))
		default:
			t.Errorf("%s: %d, the right person %v, after %v", s.name, p.status, p.right, p.took)
		}
	}
	if felt == 0 || len(s.probes) < 50 {
		t.Errorf("%s: %d of %d probes failed or waited: the server was never down", s.name, felt, len(s.probes))
	}
	if longest > crashTold(s.name) || back > crashRecovers {
		t.Errorf("%s: 503 after %v at most, recovered after %v", s.name, longest, back)
	}
	t.Figure("%s: %d of %d refused, after %d ms at most, recovered within %d ms", s.name, refused, len(s.probes), longest.Milliseconds(), back.Milliseconds())
}

// late returns how long after its server was back a request began, 0 if the server
// was away then.
func (s *crashSite) late(at time.Time) time.Duration {
	for i := len(s.up) - 1; i >= 0; i-- {
		if at.After(s.up[i]) {
			if i+1 < len(s.down) && at.After(s.down[i+1]) {
				return 0
			}
			return at.Sub(s.up[i])
		}
	}
	return 0
}

// crash04 kills all servers and restarts them, each under its own service.
func crash04(t *T) {
	length := time.Duration(t.Scale("seconds of restarts", 0, 20, 600)) * time.Second
	var sites []*crashSite
	for _, s := range crashPresent(t) {
		sites = append(sites, newCrashSite(t, s))
	}
	end := make(chan struct{})
	var all sync.WaitGroup
	var stops []func()
	for _, s := range sites {
		all.Go(func() { s.probe(end) })
		stops = append(stops, s.book.load(1))
	}
	for begun := time.Now(); time.Since(begun) < length; {
		time.Sleep(1500 * time.Millisecond)
		for _, s := range sites {
			s.server.Kill()
			s.down = append(s.down, time.Now())
		}
		time.Sleep(1500 * time.Millisecond)
		for _, s := range sites {
			s.server.Start()
			s.up = append(s.up, time.Now())
		}
	}
	time.Sleep(crashRecovers)
	close(end)
	all.Wait()
	for i, s := range sites {
		stops[i]()
		s.p.Ready(5 * time.Second)
		s.book.all()
		s.judge(t)
	}
}

func newCrashSite(t *T, kind crashServer) *crashSite {
	t.Helper()
	near, server := process.NewNeighbours(t), kind.start(t)
	p := process.Serve(t, near.YAML(""), crashEnv(t, server)...)
	s := &crashSite{name: kind.name, server: server, p: p, book: newCrashBook(t, near, p)}
	s.book.strict = false
	s.ada = s.book.visitor()
	if err := s.ada.SignIn(near.OP, "ada"); err != nil {
		t.Fatal(err)
	}
	return s
}

// crashSpare is the number of additional goroutines that do not indicate a leak:
// those of store connections.
const crashSpare = 15

// crashDeadline limits a request, whatever the store does.
const crashDeadline = 15 * time.Second

// crash05 freezes each server, then drops all traffic to PostgreSQL.
func crash05(t *T) {
	length := time.Duration(t.Scale("seconds without an answer", 0, 8, 60)) * time.Second
	var sites []*crashHung
	for _, s := range crashPresent(t) {
		server := s.start(t)
		sites = append(sites, newCrashHung(t, s.name, crashEnv(t, server), server.Freeze, server.Thaw))
	}
	server := servertest.OwnPostgres(t)
	u := arena.MustURL(t, server.URL)
	proxy := arena.NewProxy(t, u.Host, nil)
	u.Host = proxy.Addr
	sites = append(sites, newCrashHung(t, "blackhole", []string{"AUTHSVC_STORAGE_URL=" + u.String()},
		func() { proxy.Blackhole(true) }, func() { proxy.Blackhole(false) }))

	base := runtime.NumGoroutine()
	var all sync.WaitGroup
	for _, s := range sites {
		s.hang()
		all.Go(func() { s.ask(t, length) })
	}
	all.Wait()
	for _, s := range sites {
		s.goOn()
		all.Go(func() { s.continues(t) })
	}
	all.Wait()
	left := 0
	for deadline := time.Now().Add(crashDeadline); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if left = runtime.NumGoroutine(); left <= base+crashSpare {
			break
		}
	}
	if left > base+crashSpare {
		t.Errorf("%d goroutines before, %d after", base, left)
	}
	t.Figure("%d goroutines before, %d after", base, left)
}

// A crashHung is a service whose store hangs between the calls of hang and goOn.
type crashHung struct {
	name       string
	w          *arena.World
	b          *arena.Browser
	hang, goOn func()
}

func newCrashHung(t *T, name string, env []string, hang, goOn func()) *crashHung {
	t.Helper()
	w := t.Enter(func(c *authsvc.Config) { c.Adapter = storeAt(t, env) })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	if b.Email() != "ada@example.com" {
		t.Fatalf("twin: not signed in with %s", name)
	}
	together(20, func(int) { // opens as many connections as the check needs
		for range 5 {
			b.Clone().Get("/api/auth/session")
		}
	})
	return &crashHung{name, w, b, hang, goOn}
}

// ask sends requests while the store hangs. Each must end by its deadline without a
// wrong answer.
func (s *crashHung) ask(t *T, length time.Duration) {
	begun := time.Now()
	var most atomic.Int64
	together(20, func(int) {
		for time.Since(begun) < length {
			start := time.Now()
			a := s.b.Clone().Get("/api/auth/session")
			took := int64(time.Since(start))
			for old := most.Load(); took > old && !most.CompareAndSwap(old, took); old = most.Load() {
			}
			if a.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("while %s hangs: %d %s", s.name, a.StatusCode, a.Text)
			}
		}
	})
	longest := time.Duration(most.Load())
	if longest > crashDeadline {
		t.Errorf("with %s a request took %v", s.name, longest)
	}
	t.Figure("%s: requests ended after %.1f s at most", s.name, longest.Seconds())
}

// continues waits until the session can be read again.
func (s *crashHung) continues(t *T) {
	for thawed := time.Now(); !strings.Contains(s.b.Get("/api/auth/session").Text, "ada@example.com"); time.Sleep(50 * time.Millisecond) {
		if time.Since(thawed) > crashDeadline {
			t.Errorf("with %s it does not recover\n%.3000s", s.name, s.w.Logs)
			return
		}
	}
}
