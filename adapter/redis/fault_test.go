package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"authsvc"
)

func putLink(t *testing.T, s authsvc.Adapter, token string) {
	t.Helper()
	expires := time.Now().Add(time.Hour)
	err := s.PutToken(t.Context(), authsvc.VerificationToken{Identifier: "ann@example.com", Token: token, Expires: expires},
		authsvc.Mail{ID: token, Due: expires, Expires: expires}, 1000)
	if err != nil {
		t.Fatal(err)
	}
}

// Scripts that the server forgot are sent again.
func TestScriptsForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		for i := range 3 {
			putLink(t, s, fmt.Sprint(i))
			if err := s.client.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.TakeToken(t.Context(), "ann@example.com", fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		}
	})
}

// Replies which say that nothing ran are waited out, by every step; a server
// that stays so is given up.
func TestPassingReplies(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"LOADING Redis is loading", "READONLY You can't write against a read only replica.", "CLUSTERDOWN The cluster is down",
		"TRYAGAIN Multiple keys", "MASTERDOWN Link with MASTER is down", "ERR max number of clients reached", "BUSY Redis is busy running a script",
		"ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write against a read only replica."} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			m := miniredis.RunT(t)
			s := open(t, "redis://"+m.Addr(), newPrefix())
			putLink(t, s, "l")
			m.SetError(reply)
			time.AfterFunc(50*time.Millisecond, func() { m.SetError("") })
			if _, err := s.TakeToken(t.Context(), "ann@example.com", "l"); err != nil {
				t.Error(err)
			}
			m.SetError(reply)
			if err := s.UseOnce(t.Context(), "k", time.Now()); !Unreachable(err) {
				t.Errorf("a server that stays so: %v", err)
			}
			m.SetError("ERR something else")
			if err := s.UseOnce(t.Context(), "k", time.Now()); err == nil || Unreachable(err) {
				t.Errorf("another error: %v", err)
			}
			m.SetError("")
		})
	}
}

// A proxy forwards to a server, and can lose answers.
type proxy struct {
	net.Listener
	lose atomic.Int32 // how many more answers
}

func newProxy(t *testing.T, addr string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: listener}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(c, addr)
		}
	}()
	return p
}

func (p *proxy) forward(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	go io.Copy(server, client) //nolint:errcheck // ends with the connection
	answer := make([]byte, 1<<16)
	for {
		n, err := server.Read(answer)
		if err != nil || p.lose.Add(-1) >= 0 {
			return
		}
		if _, err := client.Write(answer[:n]); err != nil {
			return
		}
	}
}

// connected makes sure that the next answer is not that to a greeting.
func connected(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// When the answer to a step is lost, one that may be repeated succeeds, and
// one that works once fails: it never says that somebody else was first.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	p := newProxy(t, m.Addr())
	s := open(t, "redis://"+p.Addr().String(), newPrefix())
	direct := open(t, "redis://"+m.Addr(), newPrefix())
	direct.tag = s.tag
	ctx, now := t.Context(), time.Now()
	rec := func(id string) authsvc.SessionRecord {
		return authsvc.SessionRecord{ID: id, SessionToken: id, Digest: id, UserID: "u", Expires: now.Add(time.Hour)}
	}
	for _, id := range []string{"kept", "ended"} {
		r := rec(id)
		if _, err := s.SignUp(ctx, authsvc.User{ID: id}, nil, &r); err != nil {
			t.Fatal(err)
		}
	}
	putLink(t, s, "link")
	single := map[string]func(authsvc.Adapter) error{
		"TakeToken": func(a authsvc.Adapter) error { _, err := a.TakeToken(ctx, "ann@example.com", "link"); return err },
		"UseOnce":   func(a authsvc.Adapter) error { return a.UseOnce(ctx, "k", now) },
		"SignUp":    func(a authsvc.Adapter) error { _, err := a.SignUp(ctx, authsvc.User{ID: "new"}, nil, nil); return err },
		"DeleteSession": func(a authsvc.Adapter) error {
			_, err := a.DeleteSession(ctx, "ended")
			return err
		},
	}
	ran := map[string]error{"TakeToken": authsvc.ErrNotFound, "UseOnce": authsvc.ErrConflict, "SignUp": authsvc.ErrConflict, "DeleteSession": authsvc.ErrNotFound}
	// Load all scripts through another store, so that no answer is NOSCRIPT.
	for name, call := range single {
		other := open(t, "redis://"+m.Addr(), newPrefix())
		_ = call(other)
		connected(t, s)
		p.lose.Store(1)
		err := call(s)
		if !Unreachable(err) || errors.Is(err, authsvc.ErrNotFound) || errors.Is(err, authsvc.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(direct); !errors.Is(err, ran[name]) {
			t.Errorf("%s did not run: %v", name, err)
		}
	}
	for name, call := range map[string]func() error{
		"GetSession":    func() error { _, _, err := s.GetSession(ctx, "kept", "kept"); return err },
		"UpdateSession": func() error { return s.UpdateSession(ctx, rec("kept")) },
		"Revoke":        func() error { return s.Revoke(ctx, &authsvc.Revocation{Key: "k", Expires: now}) },
		"Lease":         func() error { return s.Lease(ctx, "k", "h", now, now) },
		"PutMeta":       func() error { _, err := s.PutMeta(ctx, "k", "v"); return err },
		"Ping":          func() error { return s.Ping(ctx) },
	} {
		connected(t, s)
		p.lose.Store(1)
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p.lose.Load() >= 0 {
			t.Errorf("%s: no answer was lost", name)
		}
	}
}

// A server that hangs does not hold a call beyond its context.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := open(t, p.url(), newPrefix())
	for range 4 { // a pool of several connections
		putLink(t, s, newPrefix())
	}
	p.signal(syscall.SIGSTOP)
	for name, begin := range map[string]func() (context.Context, context.CancelFunc, error){
		"deadline": func() (context.Context, context.CancelFunc, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			return ctx, cancel, context.DeadlineExceeded
		},
		"cancel": func() (context.Context, context.CancelFunc, error) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(150*time.Millisecond, cancel)
			return ctx, cancel, context.Canceled
		},
	} {
		for step, call := range map[string]func(context.Context) error{
			"GetSession": func(ctx context.Context) error { _, _, err := s.GetSession(ctx, "t", "t"); return err },
			"UseOnce":    func(ctx context.Context) error { return s.UseOnce(ctx, name, time.Now()) },
			"Ping":       s.Ping,
		} {
			ctx, cancel, want := begin()
			began := time.Now()
			err := call(ctx)
			cancel()
			if took := time.Since(began); !errors.Is(err, want) || took > time.Second {
				t.Errorf("%s, %s: %v after %v", name, step, err, took)
			}
		}
	}
	p.signal(syscall.SIGCONT)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("after it went on: %v", err)
	}
}

// A context whose deadline is over, though its timer has not run yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestDeadlineSeenByConnectionFirst(t *testing.T) {
	t.Parallel()
	if err := contextError(late{t.Context()}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := contextError(t.Context()); err != nil {
		t.Errorf("a context that goes on: %v", err)
	}
}

// After a crash of the server everything that was acknowledged is there, and
// the store works again by itself.
func TestServerCrash(t *testing.T) {
	t.Parallel()
	p := start(t, "--appendonly", "yes", "--appendfsync", "always")
	s := open(t, p.url(), newPrefix())
	const writers = 4
	stop := make(chan struct{})
	acknowledged := make([][]string, writers)
	var written atomic.Int32
	done := make(chan struct{}, writers)
	for i := range writers {
		go func() {
			defer func() { done <- struct{}{} }()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("%d-%d", i, n)
				acc := authsvc.Account{ID: id, Type: "oauth", Provider: "p", ProviderAccountID: id}
				rec := authsvc.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: time.Now().Add(time.Hour)}
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				if _, err := s.SignUp(ctx, authsvc.User{ID: id}, &acc, &rec); err == nil {
					acknowledged[i] = append(acknowledged[i], id)
					written.Add(1)
				} else if errors.Is(err, authsvc.ErrConflict) {
					t.Errorf("%s: a conflict with itself", id)
				}
				cancel()
			}
		}()
	}
	more := func() {
		t.Helper()
		for goal, tries := written.Load()+50, 0; written.Load() < goal; tries++ {
			if tries > 1000 {
				t.Fatal("nothing is written any more")
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	for range 2 {
		more()
		p.kill()
		p.run()
		p.await()
		more()
	}
	close(stop)
	for range writers {
		<-done
	}
	for _, ids := range acknowledged {
		for _, id := range ids {
			list, err := s.ListAccounts(t.Context(), id)
			if err != nil || len(list) != 1 {
				t.Errorf("%s: accounts %v, %v", id, list, err)
			}
			if _, _, err := s.GetSession(t.Context(), id, id); err != nil {
				t.Errorf("%s: session: %v", id, err)
			}
		}
	}
	t.Logf("%d sign-ups acknowledged over 2 crashes", written.Load())
}

// A call on a closed store fails at once, and not as if it might work later.
func TestClosed(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), miniURL(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err == nil || Unreachable(err) || !strings.Contains(err.Error(), "closed") {
		t.Errorf("ping: %v", err)
	}
}

// When memory is full a step is refused whole, and sign-out and sweep work.
func TestMemoryFull(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := open(t, p.url(), newPrefix())
	ctx, now := t.Context(), time.Now()
	rec := authsvc.SessionRecord{ID: "s", SessionToken: "s", Digest: "s", Expires: now.Add(time.Hour)}
	if _, err := s.SignUp(ctx, authsvc.User{ID: "u", Email: "old@example.com"}, nil, &rec); err != nil {
		t.Fatal(err)
	}
	if err := s.UseOnce(ctx, "old", now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	p.admin("config", "set", "maxmemory", "1")
	if _, err := s.SignUp(ctx, authsvc.User{ID: "new", Email: "new@example.com"}, nil, nil); err == nil || Unreachable(err) {
		t.Errorf("sign-up: %v", err)
	}
	if err := s.UseOnce(ctx, "new", now); err == nil || errors.Is(err, authsvc.ErrConflict) {
		t.Errorf("use once: %v", err)
	}
	email := "changed@example.com"
	_, changed := s.UpdateUser(ctx, "u", authsvc.UserUpdate{Email: &email})
	u, err := s.GetUser(ctx, "u")
	owner, ownerErr := s.GetUserByEmail(ctx, u.Email)
	if err != nil || ownerErr != nil || owner != u || (u.Email == email) != (changed == nil) {
		t.Errorf("half a change of address: %v, %v, %v, %v", u, err, ownerErr, changed)
	}
	if _, err := s.DeleteSession(ctx, "s"); err != nil {
		t.Errorf("sign-out: %v", err)
	}
	if n, err := s.Sweep(ctx, now, 10); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	p.admin("config", "set", "maxmemory", "0")
	if _, err := s.SignUp(ctx, authsvc.User{ID: "new", Email: "new@example.com"}, nil, nil); err != nil {
		t.Errorf("with memory again: %v", err)
	}
}
