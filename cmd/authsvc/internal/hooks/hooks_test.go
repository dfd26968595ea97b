package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/internal/protocol/outbound"
	"authsvc/internal/test/quiet"
)

func secretOf(b byte, n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, n))
}

// application starts an application that answers questions with h, and counts them.
func application(t *testing.T, h http.HandlerFunc) (*Hook, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	hook, problems := New(Config{URL: s.URL + "/hooks", Secrets: []string{secretOf(1, 32)}, Timeout: 5 * time.Second}, NewHTTPClient(nil, nil))
	if problems != nil {
		t.Fatal(problems)
	}
	return hook, &asked
}

func answering(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) } //nolint:errcheck // a test
}

// TestNoTimeLeft: if a slow provider has used up the time of a request, the hook is not
// asked, and other sign-ins are not refused because of it.
func TestNoTimeLeft(t *testing.T) {
	t.Parallel()
	hook, asked := application(t, answering(`{"allow":true}`))
	for range 2 * outbound.BreakAfter {
		short := outbound.WithBudget(t.Context(), time.Now().Add(4*time.Second)) // out of 5 s
		if _, err := hook.Ask(short, "sign_in", nil, "allow"); !errors.Is(err, outbound.ErrUnavailable) {
			t.Fatalf("with too little time: %v", err)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("it was asked %d times", n)
	}
	enough := outbound.WithBudget(t.Context(), time.Now().Add(time.Minute))
	if members, err := hook.Ask(enough, "sign_in", nil, "allow"); err != nil || members["allow"] != true {
		t.Errorf("afterwards: %v, %v", members, err)
	}
}

// TestSigned: a question is a POST with JSON, signed with each secret as Standard
// Webhooks require.
func TestSigned(t *testing.T) {
	t.Parallel()
	var problem error
	hook, _ := application(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
		var want []string
		for _, key := range []byte{1, 2} {
			mac := hmac.New(sha256.New, bytes.Repeat([]byte{key}, 32))
			fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
			want = append(want, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		}
		var q struct {
			Type      string
			Timestamp time.Time
			Data      map[string]any
		}
		seconds, numErr := strconv.ParseInt(at, 10, 64)
		age := time.Since(time.Unix(seconds, 0))
		switch err = errors.Join(err, numErr, json.Unmarshal(body, &q)); {
		case err != nil:
			problem = err
		case r.Method != http.MethodPost || r.URL.Path != "/hooks" || r.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(id, "msg_"):
			problem = fmt.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		case r.Header.Get("webhook-signature") != strings.Join(want, " "):
			problem = fmt.Errorf("signature %s", r.Header.Get("webhook-signature"))
		case q.Type != "sign_in" || q.Data["x"] != 1.0 || time.Since(q.Timestamp) > time.Minute || age > time.Minute || age < -time.Second:
			problem = fmt.Errorf("%+v at %s", q, at)
		}
		answering(`{"allow":true}`)(w, r)
	})
	key, _ := parseSecret(secretOf(2, 32))
	hook.keys = append(hook.keys, key)
	if ok, to, err := hook.AskSignIn(t.Context(), map[string]any{"x": 1}); !ok || to != "" || err != nil || problem != nil {
		t.Errorf("%v, %q, %v, %v", ok, to, err, problem)
	}
}

// TestAnswers: only an answer of exactly the expected form decides.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, body, want string }{
		{SignIn, `{"allow":true}`, "true"},
		{SignIn, `{"allow":false}`, "false"},
		{SignIn, `{"allow":false,"redirect":"/terms"}`, "false /terms"},
		{SignIn, `{"allow":true,"redirect":"/terms"}`, "error"},
		{SignIn, `{"allow":true,"user":{}}`, "error"},
		{SignIn, `{"Allow":true}`, "error"},
		{SignIn, `{"allow":true,"allow":true}`, "error"},
		{SignIn, `{"allow":"true"}`, "error"},
		{SignIn, `{"allow":1}`, "error"},
		{SignIn, `{"allow":null}`, "error"},
		{SignIn, `{"redirect":"/x"}`, "error"},
		{SignIn, `{"allow":false,"redirect":7}`, "error"},
		{SignIn, `{}`, "error"},
		{SignIn, ``, "error"},
		{SignIn, `true`, "error"},
		{SignIn, `[{"allow":true}]`, "error"},
		{SignIn, `{"allow":true} {"allow":true}`, "error"},
		{SignIn, `<html>`, "error"},
		{SignIn, `{"allow":true}` + strings.Repeat(" ", maxAnswer-len(`{"allow":true}`)), "true"},
		{SignIn, `{"allow":true}` + strings.Repeat(" ", maxAnswer), "error"},
		{Claims, `{"claims":{"tier":"gold","n":3}}`, `map[n:3 tier:gold]`},
		{Claims, `{"claims":{}}`, `map[]`},
		{Claims, `{"claims":null}`, "error"},
		{Claims, `{"claims":[]}`, "error"},
		{Claims, `{}`, "error"},
		{Claims, `{"allow":true}`, "error"},
		{CreateUser, `{"allow":true}`, "true {    false false false}"},
		{CreateUser, `{"allow":true,"user":{"name":"Ada","image":""}}`, "true { Ada   false true true}"},
		{CreateUser, `{"allow":true,"user":{"email":"x@y.test"}}`, "error"},
		{CreateUser, `{"allow":true,"user":{"name":7}}`, "error"},
		{CreateUser, `{"allow":true,"user":"ada"}`, "error"},
		{CreateUser, `{"user":{"name":"Ada"}}`, "error"},
		{Credentials, `{"allow":true,"user":{"id":"1","email":"a@b.test","email_verified":true}}`, "true {1  a@b.test  true false false}"},
		{Credentials, `{"allow":false}`, "false {    false false false}"},
		{Credentials, `{"allow":true}`, "error"},
		{Credentials, `{"allow":true,"user":{"id":""}}`, "error"},
		{Credentials, `{"allow":true,"user":{"id":7}}`, "error"},
		{Credentials, `{"allow":true,"user":{"id":"1","role":"admin"}}`, "error"},
		{Credentials, `{"allow":true,"user":{"id":"1","email_verified":"yes"}}`, "error"},
	} {
		hook, asked := application(t, answering(tt.body))
		if got := ask(t, hook, tt.kind); got != tt.want {
			t.Errorf("%s %.80s: %s, want %s", tt.kind, tt.body, got, tt.want)
		}
		if asked.Load() != 1 {
			t.Errorf("%s %.80s: asked %d times", tt.kind, tt.body, asked.Load())
		}
	}
}

func ask(t *testing.T, h *Hook, kind string) string {
	t.Helper()
	var got string
	var err error
	switch kind {
	case SignIn:
		var ok bool
		var to string
		ok, to, err = h.AskSignIn(t.Context(), nil)
		if got = strings.TrimSpace(fmt.Sprint(ok, to)); to != "" {
			got = fmt.Sprint(ok) + " " + to
		}
	case Claims:
		var claims map[string]any
		claims, err = h.AskClaims(t.Context(), nil)
		got = fmt.Sprint(claims)
	case CreateUser:
		var ok bool
		var p Person
		ok, p, err = h.AskCreateUser(t.Context(), nil)
		got = fmt.Sprint(ok, p)
	default:
		var ok bool
		var p Person
		ok, p, err = h.AskCredentials(t.Context(), nil)
		got = fmt.Sprint(ok, p)
	}
	if err != nil {
		return "error"
	}
	return got
}

// TestStatus: only 200 is an answer, and no question is sent twice.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{201, 204, 301, 302, 307, 308, 400, 401, 404, 429, 500, 503} {
		hook, asked := application(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/hooks/other")
			w.WriteHeader(status)
			if status != 204 {
				io.WriteString(w, `{"allow":true}`) //nolint:errcheck // a test
			}
		})
		if ok, _, err := hook.AskSignIn(t.Context(), nil); ok || err == nil || asked.Load() != 1 {
			t.Errorf("%d: %v, %v, asked %d times", status, ok, err, asked.Load())
		}
	}
}

// TestSlow: the time of a question or of the request limits the wait, and the question
// is not sent again.
func TestSlow(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hook, asked := application(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	for name, tt := range map[string]struct {
		timeout time.Duration
		ctx     context.Context
	}{
		"its own":       {minTimeout, t.Context()},
		"the request's": {maxTimeout, outbound.WithBudget(t.Context(), time.Now().Add(minTimeout))},
		"none is left":  {maxTimeout, outbound.WithBudget(t.Context(), time.Now().Add(-time.Second))},
	} {
		hook.timeout = tt.timeout
		began := time.Now()
		if ok, _, err := hook.AskSignIn(tt.ctx, nil); ok || !errors.Is(err, outbound.ErrUnavailable) || time.Since(began) > quiet.Limit(4*time.Second) {
			t.Errorf("%s: %v, %v after %v", name, ok, err, time.Since(began))
		}
	}
	if n := asked.Load(); n > 2 {
		t.Errorf("asked %d times", n)
	}
}

// TestNoConnection: a question is sent again if nothing was sent, and the breaker
// opens.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hook, problems := New(Config{URL: "http://" + l.Addr().String(), Secrets: []string{secretOf(1, 24)}}, NewHTTPClient(nil, nil))
	if problems != nil {
		t.Fatal(problems)
	}
	l.Close()
	for range outbound.BreakAfter {
		if ok, _, err := hook.AskSignIn(t.Context(), nil); ok || !errors.Is(err, outbound.ErrUnavailable) || errors.Is(err, outbound.ErrOpen) {
			t.Errorf("%v, %v", ok, err)
		}
	}
	if ok, _, err := hook.AskSignIn(t.Context(), nil); ok || !errors.Is(err, outbound.ErrOpen) {
		t.Errorf("after %d failures: %v, %v", outbound.BreakAfter, ok, err)
	}
}

// TestConnectionAppears: a question succeeds if the application listens by the second
// attempt. A question that was sent and cut off is not repeated.
func TestConnectionAppears(t *testing.T) {
	t.Parallel()
	hook, asked := application(t, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			c.Close()
		}
	})
	if ok, _, err := hook.AskSignIn(t.Context(), nil); ok || err == nil || asked.Load() != 1 {
		t.Errorf("cut off: %v, %v, asked %d times", ok, err, asked.Load())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	s := &http.Server{Handler: answering(`{"allow":true}`), ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { s.Close() })
	client := outbound.NewHTTPClient(outbound.HTTPOptions{Transport: &failsOnce{RoundTripper: &http.Transport{}, then: func() {
		if l, err := net.Listen("tcp", address); err == nil {
			go s.Serve(l) //nolint:errcheck // a test
		}
	}}})
	hook, _ = New(Config{URL: "http://" + address, Secrets: []string{secretOf(1, 24)}, Timeout: maxTimeout}, client)
	if ok, _, err := hook.AskSignIn(t.Context(), nil); !ok || err != nil {
		t.Errorf("listening by the second try: %v, %v", ok, err)
	}
}

// failsOnce calls then after the first failure.
type failsOnce struct {
	http.RoundTripper
	then func()
	once sync.Once
}

func (f *failsOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := f.RoundTripper.RoundTrip(r)
	if err != nil {
		f.once.Do(f.then)
	}
	return res, err
}

// TestMistakes: all mistakes are reported at once, and no secret is quoted.
func TestMistakes(t *testing.T) {
	t.Parallel()
	good := Config{URL: "https://app.example.com/hooks", Secrets: []string{secretOf(1, 24), secretOf(2, 64)}}
	for want, change := range map[string]func(*Config){
		"":            func(*Config) {},
		"url missing": func(c *Config) { c.URL = "" },
		"url":         func(c *Config) { c.URL = "http://app.example.com/hooks" },
		"url user":    func(c *Config) { c.URL = "https://user:password@app.example.com" },
		"timeout":     func(c *Config) { c.Timeout = 50 * time.Millisecond },
		"timeout six": func(c *Config) { c.Timeout = 6 * time.Second },
		"secret":      func(c *Config) { c.Secrets = nil },
		"secret three": func(c *Config) {
			c.Secrets = append(c.Secrets, secretOf(3, 24))
		},
		"secret short":       func(c *Config) { c.Secrets = []string{secretOf(1, 23)} },
		"secret long":        func(c *Config) { c.Secrets = []string{secretOf(1, 65)} },
		"secret prefix":      func(c *Config) { c.Secrets = []string{strings.TrimPrefix(secretOf(1, 32), "whsec_")} },
		"secret base64":      func(c *Config) { c.Secrets = []string{"whsec_not base64 at all, though long enough"} },
		"timeout url secret": func(c *Config) { *c = Config{Timeout: -1} },
	} {
		c := good
		change(&c)
		_, problems := New(c, nil)
		var got []string
		for _, p := range problems {
			got = append(got, p.Field)
			for _, secret := range c.Secrets {
				if strings.Contains(p.Problem+p.Fix, secret) || strings.Contains(p.Problem+p.Fix, "password") {
					t.Errorf("%+v quotes a secret", p)
				}
			}
		}
		field, _, _ := strings.Cut(want, " ")
		if want == "timeout url secret" {
			field = want
		}
		if strings.Join(got, " ") != field {
			t.Errorf("%s: %v", want, problems)
		}
	}
}
