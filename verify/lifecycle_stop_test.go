package verify

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/proxytest"
)

// lifecycleUndialled reports whether no connection was made, so that the service had
// not accepted any work.
func lifecycleUndialled(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// lifecycleCut reports whether the service ended during a request: no connection was
// made, or it ended before an answer.
func lifecycleCut(err error) bool {
	var cut *url.Error
	return errors.As(err, &cut) && !cut.Timeout()
}

// lifecycle01 stops a service under load while callbacks wait for the provider until
// the service no longer listens. Each callback must be answered, and everything
// answered must be stored.
func lifecycle01(t *T) {
	rounds := t.Scale("stops under load", 1, 4, 50)
	for range rounds {
		near := process.NewNeighbours(t)
		p := process.Serve(t, near.YAML(""), "AUTHSVC_STORAGE_URL=sqlite:"+t.TempDir()+"/auth.db")
		b := newCrashBook(t, near, p)
		var stopping atomic.Bool
		b.excused = func(err error) bool { return stopping.Load() && lifecycleCut(err) }
		stop := b.load(8)
		for end := time.Now().Add(patience); b.arrived() == 0 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		waiting := lifecycleWaiting(t, b, 8)
		begun := time.Now()
		stopping.Store(true)
		p.Signal(syscall.SIGTERM)
		lifecycleRefuses(t, p)
		if !p.Running() {
			t.Error("it ended before its requests")
		}
		waiting.release()
		for range waiting.visits {
			if err := <-waiting.answered; err != nil {
				t.Errorf("in flight: %v", err)
			}
		}
		if code := p.Wait(within(17 * time.Second)); code != 0 {
			t.Errorf("exit %d", code)
		}
		t.Figure("ended after %d ms", time.Since(begun).Milliseconds())
		stop()
		near.OP.SetFault(idp.Fault{})
		p.Start()
		p.Ready(patience)
		b.alive = append(b.alive, waiting.visits...)
		b.all()
	}
}

// A lifecycleWait holds callbacks that wait for the provider.
type lifecycleWait struct {
	visits   []crashVisit
	answered chan error
	release  func()
}

// lifecycleWaiting starts n callbacks and returns when they are in flight.
func lifecycleWaiting(t *T, b *crashBook, n int) *lifecycleWait {
	t.Helper()
	w := &lifecycleWait{answered: make(chan error, n)}
	codes, links := map[string]bool{}, []string{}
	for i := range n {
		sub := fmt.Sprintf("p%d", i)
		w.visits = append(w.visits, crashVisit{b.visitor(), sub + "@people.test", sub})
		link, err := w.visits[i].visitor.Begin(b.near.OP, sub)
		if err != nil {
			t.Fatal(err)
		}
		codes[arena.MustURL(t, link).Query().Get("code")] = true
		links = append(links, link)
	}
	held, arrived := make(chan struct{}), make(chan struct{}, n)
	w.release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(w.release)
	b.near.OP.SetFault(idp.Fault{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointToken: func(_ http.ResponseWriter, r *http.Request) bool {
		if codes[r.PostFormValue("code")] {
			arrived <- struct{}{}
			<-held
		}
		return false
	}}})
	for i, link := range links {
		go func() { w.answered <- w.visits[i].visitor.Open(link) }()
	}
	for range n {
		select {
		case <-arrived:
		case <-time.After(patience):
			t.Fatal("a callback does not ask the provider")
		}
	}
	return w
}

// lifecycleRefuses waits until p accepts no connections.
func lifecycleRefuses(t *T, p *process.Process) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", p.Addr, patience)
		if err == nil {
			c.Close()
		} else if lifecycleUndialled(err) {
			return
		}
	}
	t.Error("it continues to accept connections")
}

// lifecycle02 replaces replicas one by one. If a connection is refused or ends before
// an answer, the client tries the next replica: a stopped replica has not done
// requests that it had not begun. Both builds are this one.
func lifecycle02(t *T) {
	rounds := t.Scale("replacements of all replicas", 0, 2, 20)
	kind := stores.All()[2] // postgres
	if lack := lackOf(kind.Name); lack != "" {
		t.lacks(lack)
	}
	near, env := process.NewNeighbours(t), kind.Env(t, t.TempDir())
	all := []*process.Process{process.Serve(t, near.YAML(""), env...)}
	for range 2 {
		all = append(all, process.Serve(t, strings.ReplaceAll(near.YAML(""), "{origin}", all[0].URL), env...))
	}
	b := newCrashBook(t, near, all[0])
	client := &crashRetry{all: all, tries: 2 * len(all)}
	client.MaxIdleConnsPerHost = 20
	b.net = client
	b.excused = func(error) bool { return false }
	away := map[*browser.Browser]string{}
	for range 10 {
		v := b.visitor()
		a, err := v.Post("/api/auth/signin/op")
		if err != nil {
			t.Fatal(err)
		}
		back, err := near.OP.Approve(a.Location(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		away[v] = back.URL()
	}
	stop := b.load(6)
	for range rounds {
		for _, p := range all {
			time.Sleep(300 * time.Millisecond)
			p.Signal(syscall.SIGTERM)
			if code := p.Wait(patience); code != 0 {
				t.Errorf("exit %d", code)
			}
			p.Start()
			p.Ready(patience)
		}
	}
	stop()
	for v, link := range away {
		if err := v.Open(link); err != nil {
			t.Errorf("a visitor who left earlier: %v", err)
		}
	}
	b.all()
	t.Figure("%d requests were sent again; %s", client.broken.Load(), b.size())
}

// lifecycle14 restarts two processes on one SQLite file one after the other, behind
// nginx with the lines of docs/deploy.md. The client repeats nothing.
func lifecycle14(t *T) {
	rounds := t.Scale("restarts of each process", 0, 3, 20)
	near := process.NewNeighbours(t, site+"/api/auth/callback/op")
	yaml := strings.Replace(near.YAML("trusted_proxies: [127.0.0.1/32]"), `"{origin}"`, site, 1)
	store := "AUTHSVC_STORAGE_URL=sqlite:" + t.TempDir() + "/auth.db"
	all := []*process.Process{process.Serve(t, yaml, store), process.Serve(t, yaml, store)}
	both, next, found := proxytest.Blocks(t, proxyPage, "nginx")[0], proxytest.Blocks(t, "../docs/deploy.md", "nginx"), false
	if _, both, found = strings.Cut(both, "}\n"); !found || len(next) != 2 {
		t.Fatal("another configuration of nginx in docs/proxies.md or docs/deploy.md")
	}
	both = strings.Replace(next[0]+both, "proxy_buffer_size 8k;", "proxy_buffer_size 8k;\n"+next[1], 1)
	proxy := proxytest.Start(t, "nginx", proxytest.Options{Site: both, Backend: all[0].Addr, Replace: []string{"127.0.0.1:3001", all[1].Addr}})
	b := newCrashBook(t, near, all[0])
	b.base, b.net = site, proxy.Transport("127.0.0.1")
	b.excused = func(error) bool { return false }
	stop := b.load(6)
	for range rounds {
		for _, p := range all {
			before := b.arrived()
			p.Signal(syscall.SIGTERM)
			if code := p.Wait(patience); code != 0 {
				t.Errorf("exit %d", code)
			}
			for end := time.Now().Add(patience); b.arrived() == before && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond) // people sign in at the other process
			}
			p.Start()
			p.Ready(patience)
		}
	}
	stop()
	b.all()
	t.Figure("%s", b.size())
}

// lifecycle03 stops a service twice while a request hangs.
func lifecycle03(t *T) {
	near, dir := process.NewNeighbours(t), t.TempDir()
	p := process.Serve(t, near.YAML(""), "AUTHSVC_STORAGE_URL=sqlite:"+dir+"/auth.db")
	ada := browser.New(p.URL, nil)
	if err := ada.SignIn(near.OP, "ada"); err != nil {
		t.Fatal(err)
	}
	before := near.OP.Calls(idp.EndpointToken)
	near.OP.SetFault(idp.Fault{Delay: map[idp.Endpoint]time.Duration{idp.EndpointToken: time.Minute}})
	ended := make(chan error, 1)
	go func() { ended <- browser.New(p.URL, nil).SignIn(near.OP, "grace") }()
	for deadline := time.Now().Add(patience); near.OP.Calls(idp.EndpointToken) == before && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	p.Signal(syscall.SIGTERM)
	time.Sleep(300 * time.Millisecond)
	if !p.Running() {
		t.Error("the first signal did not wait for the request")
	}
	begun := time.Now()
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(within(5 * time.Second)); code == 0 || code == -1 {
		t.Errorf("exit %d", code)
	}
	t.Figure("ended %d ms after the second", time.Since(begun).Milliseconds())
	if err := <-ended; err == nil {
		t.Error("the request that hung succeeded")
	}
	near.OP.SetFault(idp.Fault{})
	crashIntegrity(t, dir+"/auth.db")
	p.Start()
	p.Ready(patience)
	if got, err := ada.Email(); got != "ada@example.com" || err != nil {
		t.Errorf("after it: %q, %v", got, err)
	}
}

// lifecycle04 reloads the configuration with a provider added and removed, another
// secret, and an invalid file, and with as many signals as possible while people sign
// in.
func lifecycle04(t *T) {
	signals := t.Scale("reloads under load, 100 a second", 20, 200, 1000)
	near := process.NewNeighbours(t)
	good := near.YAML("")
	p := process.Serve(t, good, "AUTHSVC_STORAGE_URL=sqlite:"+t.TempDir()+"/auth.db")
	b := newCrashBook(t, near, p)
	b.excused = func(error) bool { return false }
	v := b.visitor()
	a, err := v.Post("/api/auth/signin/op")
	if err != nil {
		t.Fatal(err)
	}
	back, err := near.OP.Approve(a.Location(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	reload := func(config, said string) {
		t.Helper()
		before := strings.Count(p.Logs.String(), said)
		p.Configure(config)
		p.Signal(syscall.SIGHUP)
		for deadline := time.Now().Add(patience); strings.Count(p.Logs.String(), said) == before; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("it does not say %q\n%s", said, p.Logs)
			}
		}
	}
	has := func(id string) bool {
		a, err := b.visitor().Get("/api/auth/providers")
		return err == nil && strings.Contains(a.Text, `"`+id+`"`)
	}
	reload(strings.Replace(good, "providers:\n", "providers:\n  - {id: github, client_id: a, client_secret: b}\n", 1), "configuration.changed")
	if !has("github") || !has("op") {
		t.Error("the provider that was added is not there")
	}
	reload("url: [", "configuration.change_failed")
	if !has("github") || strings.Contains(p.Logs.String(), arena.Secret) {
		t.Error("a bad file changed something, or a secret was logged")
	}
	other := "NewNewNewNew-9sK2mV7xQ4tB8wE1yU5iO3pA6dF0gH"
	reload(strings.Replace(good, arena.Secret, "["+other+", "+arena.Secret+"]", 1), "configuration.changed")
	if has("github") {
		t.Error("the provider that was removed is there")
	}
	if err := v.Open(back.URL()); err != nil {
		t.Errorf("a sign-in across reloads: %v", err)
	}
	stop := b.load(4)
	for range signals {
		p.Signal(syscall.SIGHUP)
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	b.all()
	if got, err := v.Email(); got != "ada@example.com" || err != nil {
		t.Errorf("signed in across reloads: %q, %v", got, err)
	}
}
