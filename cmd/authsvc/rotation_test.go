package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/bearer"
	"authsvc/internal/test/servertest"
)

// rotationSize is how long TestRotation runs, and how long clients wait between token
// requests. AUTHSVC_ROTATION=full runs the promised size, in about five minutes.
type rotationSize struct {
	rotations, verifications int
	pause                    time.Duration
}

// TestRotation: while replicas on one store issue tokens, keys are rotated immediately.
// Another program verifies each token when it is new and again later. Nothing fails.
func TestRotation(t *testing.T) {
	size := rotationSize{3, 100_000, 0}
	if os.Getenv("AUTHSVC_ROTATION") != "full" {
		if size = (rotationSize{1, 500, 400 * time.Millisecond}); testing.Short() {
			t.Skip("a key signs a minute after it was made")
		}
	}
	t.Parallel()
	const audience = "https://api.example.com"
	op, dir := startProvider(t), t.TempDir()
	var backends []string
	for range 3 {
		backends = append(backends, freeAddress(t))
	}
	front := newBalancer(t, backends)
	config := testConfig(front.URL, op, "tokens: {audiences: [{id: "+audience+"}]}", fmt.Sprintf("storage: {url: %q}", servertest.Postgres(t)))
	var running []*process
	for _, addr := range backends {
		l := newProcess(t, dir, addr, config)
		l.start()
		running = append(running, l)
	}
	v, err := bearer.New(bearer.Config{Issuer: front.URL + "/api/auth", Audience: audience})
	if err != nil {
		t.Fatal(err)
	}
	c := &tokenChecks{verifier: v, kids: map[string]bool{}}
	step := tokenSteps(t, c, func() (*person, error) {
		p := newPerson(front.URL, op, nil)
		at, err := p.startSignIn()
		if err == nil {
			err = p.finishSignIn(at)
		}
		return p, err
	})
	load := startLoad(t, 6, func() error {
		time.Sleep(size.pause) // other tests run at the same time
		return step()
	})
	for n := 1; n <= size.rotations; n++ {
		before := load.count()
		eventually(t, "issuing", func() bool { return load.count() > before+20 })
		var out bytes.Buffer
		if code := run(t.Context(), []string{"keys", "rotate", "--now", "--yes", "--config", dir + "/" + configFile(backends[0])}, nil, strings.NewReader(""), &out, &out); code != exitOK {
			t.Fatalf("keys rotate: %d\n%s", code, out.String())
		}
		until(t, 3*time.Minute, fmt.Sprintf("signing by key %d", n+1), func() bool { return c.keys() > n })
		before = load.count()
		eventually(t, "issuing by it", func() bool { return load.count() > before+20 })
	}
	until(t, 10*time.Minute, "verifying enough", func() bool { return c.done.Load() >= int64(size.verifications) })
	load.stopWithoutErrors(t)
	t.Logf("%d verifications of %d tokens by %d keys at %d replicas: all passed", c.done.Load(), c.tokens.Load(), c.keys(), len(backends))
	for _, l := range running {
		l.terminate()
	}
}

// until is eventually with a longer patience.
func until(t *testing.T, patience time.Duration, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s takes longer than %v", what, patience)
		}
	}
}

// tokenChecks verifies tokens.
type tokenChecks struct {
	verifier     *bearer.Verifier
	done, tokens atomic.Int64
	mu           sync.Mutex
	old          []string // verified before
	kids         map[string]bool
}

func (c *tokenChecks) keys() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.kids)
}

// check verifies a new token, and some earlier ones again.
func (c *tokenChecks) check(raw string) error {
	header, _, _ := strings.Cut(raw, ".")
	n := c.tokens.Add(1)
	c.mu.Lock()
	c.kids[header] = true // the header names the key
	again := slices.Clone(c.old)
	if n%50 == 0 {
		c.old = append(c.old, raw)
		c.old = c.old[max(0, len(c.old)-10):]
	}
	c.mu.Unlock()
	for i, one := range append([]string{raw}, again...) {
		if _, err := c.verifier.Verify(context.Background(), one); err != nil {
			return fmt.Errorf("token %d, %d verified before: %w", n, i, err)
		}
		c.done.Add(1)
	}
	return nil
}

// tokenSteps returns a step in which one of several people gets a token, and that
// verifies it.
func tokenSteps(t *testing.T, c *tokenChecks, signIn func() (*person, error)) func() error {
	t.Helper()
	type asker struct {
		person *person
		form   url.Values
	}
	people := make(chan asker, 6)
	for range cap(people) {
		p, err := signIn()
		if err != nil {
			t.Fatal(err)
		}
		token, err := p.CSRF()
		if err != nil {
			t.Fatal(err)
		}
		people <- asker{p, url.Values{"csrfToken": {token}}}
	}
	return func() error {
		who := <-people
		defer func() { people <- who }()
		a, err := who.person.Form("/api/auth/token", who.form)
		if err != nil {
			return err
		}
		var token struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal([]byte(a.Text), &token); err != nil || a.StatusCode != http.StatusOK {
			return fmt.Errorf("POST token: %s %.200s, %w", a.Status, a.Text, err)
		}
		return c.check(token.AccessToken)
	}
}
