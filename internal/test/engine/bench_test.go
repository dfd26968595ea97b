package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/internal/test/arena"
)

// onSQLite puts a service on a new SQLite file, without limits or logs.
func onSQLite(tb testing.TB, tune func(*authsvc.Config)) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		store, err := sqlite.Open(tb.Context(), filepath.Join(tb.TempDir(), "bench.db"), sqlite.Options{Migrate: true})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		c.Adapter, c.RateLimit.Disabled, c.Logger = store, true, slog.New(slog.DiscardHandler)
		if tune != nil {
			tune(c)
		}
	}
}

// A discard is a ResponseWriter that costs almost nothing.
type discard struct{ h http.Header }

func (d *discard) Header() http.Header       { return d.h }
func (*discard) Write(p []byte) (int, error) { return len(p), nil }
func (*discard) WriteHeader(int)             {}

func BenchmarkSession(b *testing.B) {
	w := arena.Start(b, onSQLite(b, nil))
	br := w.Browser()
	if a := br.SignIn(w.OP, "ada"); br.Email() == "" {
		b.Fatalf("sign-in: %d %s", a.StatusCode, a.Location())
	}
	r := httptest.NewRequest(http.MethodGet, arena.Origin+"/api/auth/session", nil)
	for _, name := range br.SessionCookies() {
		r.AddCookie(&http.Cookie{Name: name, Value: br.Cookies[name]})
	}
	b.Run("database-sqlite", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.ServeHTTP(&discard{h: http.Header{}}, r)
		}
	})
}

// BenchmarkEmailSignIn runs the whole flow: token, form, mail from the queue, link,
// session in SQLite.
func BenchmarkEmailSignIn(b *testing.B) {
	sent := make(chan authsvc.Message, 1)
	w := arena.Start(b, onSQLite(b, func(c *authsvc.Config) {
		c.Providers = []authsvc.Provider{&authsvc.Email{From: "a@app.test", Send: func(_ context.Context, m authsvc.Message) error {
			sent <- m
			return nil
		}}}
	}))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		br := w.Browser()
		br.Post("/api/auth/signin/email", "email", fmt.Sprintf("user%d@app.test", n))
		if a := br.Get(arena.Link(b, <-sent)); a.StatusCode != http.StatusFound || br.Email() == "" {
			b.Fatalf("sign-in %d: %d %s", n, a.StatusCode, a.Location())
		}
	}
}

// BenchmarkSignInOfPeople signs a known user in at a provider, in turn with the
// default account page and notices and without both. It reports how much slower the
// default is.
func BenchmarkSignInOfPeople(b *testing.B) {
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		b.Run(string(strategy), func(b *testing.B) {
			var worlds [2]*arena.World
			var browsers [2]*arena.Browser
			for i := range worlds {
				worlds[i] = arena.Start(b, onSQLite(b, func(c *authsvc.Config) {
					c.Session.Strategy, c.Account.Disabled, c.Notices.Disabled = strategy, i == 1, i == 1
				}))
				browsers[i] = worlds[i].Browser()
				browsers[i].Header.Set("Accept-Language", "en")
				browsers[i].SignIn(worlds[i].OP, "ada")
			}
			var took [2][]time.Duration
			for n := 0; b.Loop(); n++ {
				for j := range worlds {
					i := (n + j) % 2
					begun := time.Now()
					begin := browsers[i].Begin("op")
					took[i] = append(took[i], time.Since(begun))
					back := browsers[i].Approve(worlds[i].OP, begin, "ada")
					begun = time.Now()
					if a := browsers[i].Get(back); a.Location() != arena.Origin {
						b.Fatalf("%d %s", a.StatusCode, a.Location())
					}
					took[i][len(took[i])-1] += time.Since(begun)
				}
			}
			slices.Sort(took[0])
			slices.Sort(took[1])
			with, without := took[0][len(took[0])/2], took[1][len(took[1])/2]
			b.ReportMetric(float64(without.Microseconds()), "µs-without")
			b.ReportMetric(float64(with.Microseconds()), "µs-with")
			b.ReportMetric(100*(float64(with)/float64(without)-1), "%-slower")
		})
	}
}
