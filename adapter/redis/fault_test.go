package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"

	"authsvc/adapter"
)

func putLink(t *testing.T, s adapter.Adapter, token string) {
	t.Helper()
	expires := time.Now().Add(time.Hour)
	err := s.PutToken(t.Context(), adapter.VerificationToken{Identifier: "ann@example.com", Token: token, Expires: expires},
		adapter.Mail{ID: token, Due: expires, Expires: expires}, 1000)
	if err != nil {
		t.Fatal(err)
	}
}

// TestScriptsForgotten checks that scripts are sent again if the server no longer has
// them.
func TestScriptsForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		for i := range 3 {
			putLink(t, s, fmt.Sprint(i))
			if err := s.client.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.TakeToken(t.Context(), "ann@example.com", fmt.Sprint(i), time.Now()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestPassingReplies checks that every step is retried, up to a limit, after replies of
// a server that is not ready.
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
			var tries atomic.Int32
			m.Server().SetPreHook(func(c *miniserver.Peer, _ string, _ ...string) bool {
				passes := tries.Add(1) > 2
				if !passes {
					c.WriteError(reply)
				}
				return !passes
			})
			if _, _, err := s.TakeToken(t.Context(), "ann@example.com", "l", time.Now()); err != nil {
				t.Error(err)
			}
			m.SetError(reply)
			if err := s.UseOnce(t.Context(), "k", time.Now()); !Unreachable(err) {
				t.Errorf("a server that keeps answering so: %v", err)
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
	lose atomic.Int32 // number of answers still to lose
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

// connected ensures that the next answer is not the one to a greeting.
func connected(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestLostAnswer checks that, if the answer is lost, an idempotent step succeeds, and
// any other step fails, but never with a conflict.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	p := newProxy(t, m.Addr())
	s := open(t, "redis://"+p.Addr().String(), newPrefix())
	direct := open(t, "redis://"+m.Addr(), newPrefix())
	direct.tag = s.tag
	ctx, now := t.Context(), time.Now()
	rec := func(id string) adapter.SessionRecord {
		return adapter.SessionRecord{ID: id, SessionToken: id, Digest: id, UserID: "u", Expires: now.Add(time.Hour)}
	}
	for _, id := range []string{"kept", "ended"} {
		r := rec(id)
		if _, err := s.SignUp(ctx, adapter.User{ID: id}, nil, &r, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	putLink(t, s, "link")
	single := map[string]func(adapter.Adapter) error{
		"TakeToken": func(a adapter.Adapter) error {
			_, _, err := a.TakeToken(ctx, "ann@example.com", "link", now)
			return err
		},
		"UseOnce": func(a adapter.Adapter) error { return a.UseOnce(ctx, "k", now) },
		"SignUp": func(a adapter.Adapter) error {
			_, err := a.SignUp(ctx, adapter.User{ID: "new"}, nil, nil, "", nil)
			return err
		},
		"DeleteSession": func(a adapter.Adapter) error {
			_, err := a.DeleteSession(ctx, "ended")
			return err
		},
	}
	ran := map[string]error{"TakeToken": adapter.ErrNotFound, "UseOnce": adapter.ErrConflict, "SignUp": adapter.ErrConflict, "DeleteSession": adapter.ErrNotFound}
	// Load all scripts through another store, so that no answer is NOSCRIPT.
	for name, call := range single {
		other := open(t, "redis://"+m.Addr(), newPrefix())
		_ = call(other)
		connected(t, s)
		p.lose.Store(1)
		err := call(s)
		if !Unreachable(err) || errors.Is(err, adapter.ErrNotFound) || errors.Is(err, adapter.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(direct); !errors.Is(err, ran[name]) {
			t.Errorf("%s did not run: %v", name, err)
		}
	}
	for name, call := range map[string]func() error{
		"GetSession":    func() error { _, _, err := s.GetSession(ctx, "kept", "kept"); return err },
		"UpdateSession": func() error { return s.UpdateSession(ctx, rec("kept")) },
		"Revoke":        func() error { return s.Revoke(ctx, &adapter.Revocation{Key: "k", Expires: now}) },
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

// An expiredContext has a deadline in the past and a timer that has not fired.
type expiredContext struct{ context.Context }

func (expiredContext) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestDeadlineSeenByConnectionFirst(t *testing.T) {
	t.Parallel()
	if err := contextError(expiredContext{t.Context()}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := contextError(t.Context()); err != nil {
		t.Errorf("a context that is not done: %v", err)
	}
}

// TestClosed checks that a call on a closed store fails at once, and that Unreachable
// is false.
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
