package oidc

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc/internal/protocol/outbound"
	"authsvc/internal/test/quiet"
)

// endpoints holds the calls of a sign-in, by path.
var endpoints = map[string]func(context.Context, *Client, string) error{
	"/.well-known/openid-configuration": func(ctx context.Context, client *Client, _ string) error {
		_, err := client.Metadata(ctx)
		return err
	},
	"/jwks": func(ctx context.Context, client *Client, idToken string) error {
		_, err := client.VerifyIDToken(ctx, idToken, IDTokenCheck{Nonce: testNonce})
		return err
	},
	"/token": func(ctx context.Context, client *Client, _ string) error { return redeem(ctx, client) },
	"/userinfo": func(ctx context.Context, client *Client, _ string) error {
		_, err := client.UserInfo(ctx, &Tokens{AccessToken: "at"}, "user-1")
		return err
	},
}

// working returns a provider whose endpoints all answer correctly.
func working(t testing.TB) (*provider, string) {
	t.Helper()
	op := newProvider(t)
	idToken := op.signer.sign(t, op.claims(), nil)
	op.on("/token", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"access_token": "at", "token_type": "Bearer", "id_token": idToken})
	})
	op.on("/userinfo", reply(200, "application/json", `{"sub":"user-1"}`))
	return op, idToken
}

// TestBrokenBodies sends invalid answers from every endpoint.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	const secret = "words of the provider"
	good := `{"issuer":"x","keys":[],"access_token":"at","sub":"user-1","note":"` + secret + `"}`
	bodies := map[string]http.HandlerFunc{
		"truncated":    reply(200, "application/json", good[:len(good)-3]),
		"html":         reply(200, "text/html", "<!doctype html><title>"+secret+"</title><a href='?a=b'>"),
		"html as JSON": reply(200, "application/json", "<html>"+secret),
		"UTF-16":       reply(200, "application/json; charset=utf-16", "\xff\xfe{\x00\"\x00a\x00\"\x00:\x001\x00}\x00"),
		"Latin-1":      reply(200, "application/json", "{\"sub\":\"user-1\xe9\",\"keys\":[{\"kid\":\"\xe9\"}]}"),
		"BOM":          reply(200, "application/json", "\xef\xbb\xbf"+good),
		"depth bomb":   reply(200, "application/json", strings.Repeat(`{"keys":[`, 100_000)),
		"deep object":  reply(200, "application/json", strings.Repeat(`{"keys":`, 5000)+"1"+strings.Repeat("}", 5000)),
		"empty":        reply(200, "application/json", ""),
		"null":         reply(200, "application/json", "null"),
		"list":         reply(200, "application/json", "[]"),
		"two values":   reply(200, "application/json", good+good),
		"204":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"205":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(205) },
		"2 MB":         reply(200, "application/json", `{"sub":"`+strings.Repeat("x", 2<<20)+`"}`),
		"gzip bomb":    bomb,
		"gone":         func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"reset after headers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			reset(w)
		},
	}
	for path, call := range endpoints {
		op, idToken := working(t)
		if err := call(t.Context(), op.client(t), idToken); err != nil {
			t.Errorf("twin of %s: %v", path, err)
		}
		for name, body := range bodies {
			t.Run(name+" from "+path, func(t *testing.T) {
				t.Parallel()
				op, idToken := working(t)
				op.on(path, body)
				err := call(t.Context(), op.client(t), idToken)
				if err == nil {
					t.Fatal("accepted")
				}
				if text := err.Error(); strings.Contains(text, secret) || strings.Contains(text, op.URL) || len(text) > 200 {
					t.Errorf("%d bytes: %.300s", len(text), text)
				}
			})
		}
	}
}

// bomb answers with 10 MB of spaces and {} in 10 KB, whether gzip was requested or not.
// Inflated and truncated, it would be an empty object.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Content-Type", "application/json")
	w.Write(zipped())
}

var zipped = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, "{}"+strings.Repeat(" ", 10<<20))
	z.Close()
	return b.Bytes()
})

// reset ends a connection by RST.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // after Flush some versions do not hand over the connection
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// TestStallsEnd checks that calls end with the caller's time, whatever stalls.
func TestStallsEnd(t *testing.T) {
	t.Parallel()
	stalls := map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"no body": func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"a byte at a time": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		},
		"503 to every try": reply(503, "text/plain", ""),
	}
	for path, call := range endpoints {
		for name, stall := range stalls {
			t.Run(name+" from "+path, func(t *testing.T) {
				t.Parallel()
				op, idToken := working(t)
				client := op.client(t)
				t.Cleanup(op.CloseClientConnections) // fetches continue without the caller
				if path != "/.well-known/openid-configuration" {
					if _, err := client.Metadata(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				op.on(path, stall)
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				begin := time.Now()
				if err := call(ctx, client, idToken); !errors.Is(err, outbound.ErrUnavailable) {
					t.Errorf("%v", err)
				}
				if d := time.Since(begin); d > quiet.Limit(3*time.Second) {
					t.Errorf("took %v", d)
				}
			})
		}
	}
}

// TestColdStart checks a thousand concurrent sign-ins and a thousand forgeries, with
// nothing cached.
func TestColdStart(t *testing.T) {
	t.Parallel()
	op, idToken := working(t)
	client := op.client(t)
	stranger := newSigner("")
	var forged []string
	for i := range 20 {
		stranger.kid = fmt.Sprint("random-", i)
		forged = append(forged, stranger.sign(t, op.claims(), nil))
	}
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			if _, err := client.VerifyIDToken(t.Context(), idToken, IDTokenCheck{Nonce: testNonce}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := client.VerifyIDToken(t.Context(), forged[i%len(forged)], IDTokenCheck{Nonce: testNonce}); err == nil {
				t.Error("accepted")
			}
		})
	}
	wg.Wait()
	if d, k := op.count("/.well-known/openid-configuration"), op.count("/jwks"); d != 1 || k > 2 {
		t.Errorf("%d fetches of metadata, %d of keys", d, k)
	}
}

// TestMetadataDrift checks that another issuer is never accepted, and other endpoints
// only after they are checked.
func TestMetadataDrift(t *testing.T) {
	t.Parallel()
	const base = "https://idp.example"
	synctest.Test(t, func(t *testing.T) {
		doc := map[string]any{"issuer": base, "authorization_endpoint": base + "/a", "token_endpoint": base + "/t", "jwks_uri": base + "/jwks"}
		client, err := New(Config{Issuer: base, ClientID: testClient, ClientSecret: testSecret, OpenID: true,
			HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return response(200, doc), nil })}})
		wantError(t, err, "")
		tokenURL := func() string {
			md, err := client.Metadata(t.Context())
			if err != nil {
				return err.Error()
			}
			return md.TokenURL
		}
		for _, step := range []struct {
			issuer, token string
			wait          time.Duration
			want          string
		}{
			{base, base + "/t", 0, base + "/t"},
			{base, base + "/moved", 0, base + "/t"}, // not fetched yet
			{base, base + "/moved", freshFor, base + "/moved"},
			{base, "http://evil.example/t", freshFor, base + "/moved"},
			{"https://evil.example", "https://evil.example/t", freshFor, base + "/moved"},
			{"https://evil.example", "https://evil.example/t", staleFor, `discovery: issuer is not the configured one: it is "https://evil.example", but the configuration has "` + base + `"`},
			{base, base + "/t", retryAfter, base + "/t"},
		} {
			doc["issuer"], doc["token_endpoint"] = step.issuer, step.token
			time.Sleep(step.wait)
			if got := tokenURL(); got != step.want {
				t.Errorf("%+v: %s", step, got)
			}
		}
	})
}
