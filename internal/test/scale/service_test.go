package scale

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/test/servertest"
)

// size returns the number of users in AUTHSVC_SCALE, or 0 if it is not set.
func size(t *testing.T) int {
	t.Helper()
	text := os.Getenv("AUTHSVC_SCALE")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		t.Fatalf("AUTHSVC_SCALE is %q; it is a number of users, at least 1000", text)
	}
	return n
}

// measured returns the kinds of stores to measure. Each function returns the URL of a
// fresh, empty store.
func measured() map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "auth.db") },
		"postgres": servertest.Postgres,
	}
}

// each runs a test once per kind of store, one after another, so that measurements do
// not share the machine.
func each(t *testing.T, test func(t *testing.T, fresh func(testing.TB) string)) {
	all := measured()
	for _, name := range []string{"sqlite", "postgres"} {
		if fresh := all[name]; fresh != nil {
			t.Run(name, func(t *testing.T) { test(t, fresh) })
		}
	}
}

const sessionCookie = "__Host-session"

// A service is the engine on a filled store.
type service struct {
	*engine.Service
	store      Store
	population Population
	random     *rand.Rand
	client     *http.Client
	address    string // where it is served
}

func serve(t testing.TB, storage string, p Population) *service {
	t.Helper()
	start := time.Now()
	if err := Fill(t.Context(), storage, p, func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d users, %d accounts, %d live and %d expired sessions: filled in %.1f s",
		p.Users, p.Users*p.Accounts, p.live(), p.Ended, time.Since(start).Seconds())
	store, err := Open(t.Context(), storage)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &service{store: store, population: p, random: rand.New(rand.NewPCG(7, p.Seed))}
	s.Service, err = engine.New(config(t, store))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.client, s.address = server.Client(), server.Listener.Addr().String()
	return s
}

// config returns the configuration for a store.
func config(t testing.TB, store adapter.Adapter) authsvc.Config {
	return authsvc.Config{
		URL: "https://app.test", Secrets: []string{"kT3vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Adapter: store,
		Cookies: authsvc.CookieOptions{Session: sessionCookie}, RateLimit: authsvc.RateLimit{Disabled: true},
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Providers: []authsvc.Provider{&authsvc.OAuth{
			ID: "provider0", Issuer: "https://id.test", OpenID: true, Client: authsvc.Client{ID: "id", Secret: "secret"}}},
	}
}

// ask returns the request of a random live session.
func (s *service) ask(random *rand.Rand) (r *http.Request, email string) {
	i := random.IntN(s.population.live())
	r = httptest.NewRequest("GET", "https://app.test/api/auth/session", nil)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: s.population.Cookie(i)})
	return r, s.population.user(s.population.owner(i)).Email
}

// check checks that the session is the right one, and was only read.
func check(status int, header http.Header, body []byte, email string) error {
	if status != http.StatusOK || !strings.Contains(string(body), `"`+email+`"`) {
		return fmt.Errorf("status %d, %s", status, body)
	}
	if header.Get("Set-Cookie") != "" {
		return fmt.Errorf("the session was extended: %s", header)
	}
	return nil
}

// An answer records a response.
type answer struct {
	header http.Header
	body   []byte
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { a.body = append(a.body, p...); return len(p), nil }

// get calls the handler for one session and returns the time taken.
func (s *service) get(random *rand.Rand) (time.Duration, error) {
	r, email := s.ask(random)
	a := &answer{header: http.Header{}, status: http.StatusOK}
	start := time.Now()
	s.ServeHTTP(a, r)
	return time.Since(start), check(a.status, a.header, a.body, email)
}

// fetch requests one session over HTTP, on a kept connection, and returns the time
// taken.
func (s *service) fetch(random *rand.Rand) (time.Duration, error) {
	r, email := s.ask(random)
	r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", s.address
	start := time.Now()
	res, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(res.Body)
	took := time.Since(start)
	return took, errors.Join(err, res.Body.Close(), check(res.StatusCode, res.Header, body, email))
}

// gets makes n requests with get.
func (s *service) gets(t testing.TB, n int, get func(*rand.Rand) (time.Duration, error)) times {
	t.Helper()
	list := make(times, n)
	for i := range list {
		var err error
		if list[i], err = get(s.random); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// times holds the durations of requests.
type times []time.Duration

// at returns the quantile q, such as 0.5.
func (l times) at(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(l))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// String implements [fmt.Stringer].
func (l times) String() string {
	return fmt.Sprintf("p50 %v, p99 %v (%d reads)", l.at(0.5).Round(100*time.Nanosecond), l.at(0.99).Round(100*time.Nanosecond), len(l))
}
