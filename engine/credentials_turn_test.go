package engine_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
)

const knownCookie = "__Host-authsvc.known"

func host(i int) string { return fmt.Sprintf("198.51.%d.%d:1", 100+i/250, i%250) }

// useUp makes ten failing attempts at an account at once, from ten addresses.
func useUp(t *testing.T, at func(string) *guest, name string) {
	t.Helper()
	for i := range 10 {
		if r := at(host(i)).login(name, "wrong"); !strings.Contains(r.Header.Get("Location"), "CredentialsSignin") || r.took > 0 {
			t.Fatalf("attempt %d: %d after %s", i, r.StatusCode, r.took)
		}
	}
}

// late reports whether an attempt took as long as one that waits without competitors.
func late(r *reply) bool { return r.took >= time.Second && r.took <= 10*time.Second }

func TestQueuedLogins(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{true, false} {
		tune := func(c *authsvc.Config) {
			c.Session.Strategy = "jwt"
			if stored {
				c.Adapter = memory.New()
			}
		}
		name := func(s string) string { return fmt.Sprintf("%s, store %v", s, stored) }
		t.Run(name("delayed, then judged"), inBubble(delayedThenJudged, tune))
		t.Run(name("spellings of one name"), inBubble(spellingsOfOneName, tune))
		t.Run(name("at the last permit"), inBubble(atTheLastPermit, tune))
	}
}

func inBubble(test func(*testing.T, func(*authsvc.Config)), tune func(*authsvc.Config)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { test(t, tune) })
	}
}

func delayedThenJudged(t *testing.T, tune func(*authsvc.Config)) {
	_, at := guests(t, tune)
	useUp(t, at, "ada")
	if r := at("203.0.113.9:1").login("ada", "right"); !r.in() || !late(r) {
		t.Errorf("the owner: %d %s after %s", r.StatusCode, r.Header.Get("Location"), r.took)
	}
	if r := at("203.0.113.9:1").login("ada", "wrong"); r.in() || !late(r) {
		t.Errorf("a stranger: %d after %s", r.StatusCode, r.took)
	}
	if r := at("203.0.113.9:1").login("bob", "right"); !r.in() || r.took > 0 {
		t.Errorf("another account: %d after %s", r.StatusCode, r.took)
	}
}

func spellingsOfOneName(t *testing.T, tune func(*authsvc.Config)) {
	_, at := guests(t, tune)
	for _, name := range []string{"Ada", " ADA\t", "ａｄａ", "ada" + strings.Repeat(" ", 5000), strings.Repeat("\u00a0", 5000) + "ada"} {
		useUp(t, at, "ada")
		if r := at("203.0.113.9:1").login(name, "wrong"); !late(r) {
			t.Errorf("%.20q: %d after %s", name, r.StatusCode, r.took)
		}
		time.Sleep(time.Minute)
	}
}

func atTheLastPermit(t *testing.T, tune func(*authsvc.Config)) {
	_, at := guests(t, tune)
	var atOnce, waited, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			switch r := at(host(i)).login("ada", "right"); {
			case r.in() && r.took == 0:
				atOnce.Add(1)
			case r.in():
				waited.Add(1)
			case r.StatusCode == http.StatusTooManyRequests && r.Header.Get("Retry-After") != "":
				refused.Add(1)
			default:
				t.Errorf("%d %s", r.StatusCode, r.Header.Get("Location"))
			}
		})
	}
	all.Wait()
	if atOnce.Load() != 10 || waited.Load() < 2 || waited.Load() > 3 || refused.Load() != 50-waited.Load() {
		t.Errorf("%d at once, %d waited, %d refused", atOnce.Load(), waited.Load(), refused.Load())
	}
}

// TestQueuedLoginsDoNotLockOutOwner has strangers at many addresses try without a
// pause. They get few tries, and the owner gets in with an unknown browser.
func TestQueuedLoginsDoNotLockOutOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, at := guests(t, nil)
		start, stop := time.Now(), make(chan struct{})
		var judged atomic.Int64
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				for g := at(host(i)); ; time.Sleep(rand.N(time.Second)) {
					select {
					case <-stop:
						return
					default:
					}
					if r := g.login("ada", "wrong"); strings.Contains(r.Header.Get("Location"), "CredentialsSignin") {
						judged.Add(1)
					}
				}
			})
		}
		time.Sleep(time.Minute)
		in := 0
		for i := range 200 {
			if at(fmt.Sprintf("203.0.113.%d:1", i)).login("ada", "right").in() {
				in++
			}
		}
		minutes := time.Since(start).Minutes()
		close(stop)
		all.Wait()
		if in == 0 {
			t.Error("the owner never signed in")
		}
		if most := 10 + 22*(minutes+1); float64(judged.Load()) > most {
			t.Errorf("%d guesses in %.1f minutes, more than %.0f", judged.Load(), minutes, most)
		}
		t.Logf("%d of 200 attempts of the owner, %d guesses in %.1f minutes", in, judged.Load(), minutes)
	})
}

func TestQueuedLoginClientLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, at := guests(t, nil)
		useUp(t, at, "ada")
		done := make(chan *reply)
		go func() { done <- at("203.0.113.9:1").login("ada", "right") }()
		synctest.Wait()
		if r := at("203.0.113.9:1").login("ada", "right"); r.StatusCode != http.StatusOK && r.took > 0 || r.in() {
			t.Errorf("a second one of the same client waited: %d after %s", r.StatusCode, r.took)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := <-done; r.in() || r.took > 0 {
			t.Errorf("it continued after Close: %d after %s", r.StatusCode, r.took)
		}
	})
}
