package authsvc_test

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

// useUp fails ten times at an account, from ten addresses, at once.
func useUp(t *testing.T, at func(string) *guest, name string) {
	t.Helper()
	for i := range 10 {
		if r := at(host(i)).login(name, "wrong"); !strings.Contains(r.Header.Get("Location"), "CredentialsSignin") || r.took > 0 {
			t.Fatalf("attempt %d: %d after %s", i, r.StatusCode, r.took)
		}
	}
}

// late is within what an attempt waits that nobody competes with.
func late(r *reply) bool { return r.took >= time.Second && r.took <= 10*time.Second }

func TestLateAttempts(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{true, false} {
		tune := func(c *authsvc.Config) {
			c.Session.Strategy = "jwt"
			if stored {
				c.Adapter = memory.New()
			}
		}
		name := func(s string) string { return fmt.Sprintf("%s, store %v", s, stored) }
		t.Run(name("delayed, then judged"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
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
			})
		})
		t.Run(name("spellings of one name"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, at := guests(t, tune)
				for _, name := range []string{"Ada", " ADA\t", "ａｄａ", "ada" + strings.Repeat(" ", 5000), strings.Repeat("\u00a0", 5000) + "ada"} {
					useUp(t, at, "ada")
					if r := at("203.0.113.9:1").login(name, "wrong"); !late(r) {
						t.Errorf("%.20q: %d after %s", name, r.StatusCode, r.took)
					}
					time.Sleep(time.Minute)
				}
			})
		})
		t.Run(name("at the last permit"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
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
			})
		})
	}
}

// Strangers at many addresses try without a pause. What they get is little,
// and the owner gets in with a browser that is known to nobody.
func TestLateNobodyIsLockedOut(t *testing.T) {
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
			t.Error("the owner never got in")
		}
		if most := 10 + 22*(minutes+1); float64(judged.Load()) > most {
			t.Errorf("%d guesses in %.1f minutes, more than %.0f", judged.Load(), minutes, most)
		}
		t.Logf("%d of 200 attempts of the owner, %d guesses in %.1f minutes", in, judged.Load(), minutes)
	})
}

func TestLateClientLeaves(t *testing.T) {
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
			t.Errorf("it went on after Close: %d after %s", r.StatusCode, r.took)
		}
	})
}

func TestKnownBrowser(t *testing.T) {
	t.Parallel()
	t.Run("a stranger's failures do not touch it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, at := guests(t, nil)
			owner := at("203.0.113.9:1")
			if r := owner.login("Ada", "right"); !r.in() || owner.cookies[knownCookie] == "" {
				t.Fatalf("%d, known %q", r.StatusCode, owner.cookies[knownCookie])
			}
			time.Sleep(time.Minute)
			useUp(t, at, "ada")
			for i := range 9 {
				if r := owner.login("ada", "wrong"); r.in() || r.took > 0 {
					t.Fatalf("failure %d: %d after %s", i, r.StatusCode, r.took)
				}
			}
			if r := owner.login("ada", "right"); !r.in() || r.took > 0 {
				t.Errorf("%d after %s", r.StatusCode, r.took)
			}
			if r := owner.login("ada", "right"); !late(r) {
				t.Errorf("its own count has no end: %d after %s", r.StatusCode, r.took)
			}
		})
	})
	t.Run("not for another account, forged, of another service or over", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, at := guests(t, nil)
			_, elsewhere := guests(t, func(c *authsvc.Config) { c.Secrets = []string{"another 0123456789 abcdefghijklmnopqrstuvwxyz"} })
			bob, foreign, ada := at("203.0.113.9:1"), elsewhere("203.0.113.9:1"), at("203.0.113.9:1")
			bob.login("bob", "right")
			foreign.login("ada", "right")
			ada.login("ada", "right")
			failed := at("203.0.113.9:1")
			if failed.login("ada", "wrong"); failed.cookies[knownCookie] != "" {
				t.Error("a failure makes a browser known")
			}
			cut := ada.cookies[knownCookie]
			for name, value := range map[string]string{"bob's": bob.cookies[knownCookie], "foreign": foreign.cookies[knownCookie],
				"cut": cut[:len(cut)-2], "long": strings.Repeat("x", 5000), "session": ada.cookies["__Host-authsvc.session"]} {
				time.Sleep(time.Minute)
				useUp(t, at, "ada")
				g := at("203.0.113.10:1")
				g.cookies[knownCookie] = value
				if r := g.login("ada", "wrong"); !late(r) {
					t.Errorf("%s: %d after %s", name, r.StatusCode, r.took)
				}
			}
			if r := ada.login("ada", "right"); !r.in() || r.took > 0 {
				t.Errorf("twin: %d after %s", r.StatusCode, r.took)
			}
			time.Sleep(180 * 24 * time.Hour)
			useUp(t, at, "ada")
			if r := ada.login("ada", "wrong"); !late(r) {
				t.Errorf("after half a year: %d after %s", r.StatusCode, r.took)
			}
		})
	})
	t.Run("survives a new secret", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var old []string
			_, at := guests(t, func(c *authsvc.Config) { old = c.Secrets })
			owner := at("203.0.113.9:1")
			owner.login("ada", "right")
			rotated, at := guests(t, func(c *authsvc.Config) {
				c.Secrets = append([]string{"another 0123456789 abcdefghijklmnopqrstuvwxyz"}, old...)
			})
			useUp(t, at, "ada")
			owner.h = rotated
			if r := owner.login("ada", "right"); !r.in() || r.took > 0 {
				t.Errorf("%d after %s", r.StatusCode, r.took)
			}
		})
	})
	t.Run("five accounts, one small cookie", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, at := guests(t, nil)
			g := at("203.0.113.9:1")
			var line string
			for i := range 6 {
				r := g.login(fmt.Sprintf("%d%s", i, strings.Repeat("long", 1000)), "right")
				for _, c := range r.Cookies() {
					if c.Name == knownCookie {
						line = c.Raw
					}
				}
			}
			if n := len(g.cookies[knownCookie]); n == 0 || n > 1000 {
				t.Errorf("%d bytes", n)
			}
			for _, want := range []string{"; Path=/;", "; HttpOnly", "; Secure", "; SameSite=Lax", "; Expires="} {
				if !strings.Contains(line+";", want) {
					t.Errorf("%s is not in %s", want, line)
				}
			}
			if strings.Contains(line, "Domain") {
				t.Errorf("%s", line)
			}
			time.Sleep(time.Minute)
			for i, known := range []bool{false, true, true, true, true, true} {
				name := fmt.Sprintf("%d%s", i, strings.Repeat("long", 1000))
				useUp(t, at, name)
				if r := g.login(name, "wrong"); late(r) == known {
					t.Errorf("account %d: %d after %s", i, r.StatusCode, r.took)
				}
			}
		})
	})
}
