package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"authsvc/adapter/memory"
	"authsvc/cmd/authsvc/internal/probe"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/browser"
)

// A probedSite is a deployment for authsvc probe: a service behind a front that may
// have a hole.
type probedSite struct {
	t       *testing.T
	op      *idp.Server
	service *engine.Service
	front   http.Handler // of the routes of the service
	cuts    atomic.Bool  // set once ada is signed in
	oneOnly bool         // only HTTP/1.1
	file    string       // the configuration
	dir     string
}

// unless serves the routes of the service by other, but only after the test has signed
// in.
func (s *probedSite) unless(other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cuts.Load() {
			other.ServeHTTP(w, r)
			return
		}
		s.service.ServeHTTP(w, r)
	})
}

const probedOrigin = "https://example.com" // a name of the certificate of httptest

func newProbedSite(t *testing.T, hosts ...string) *probedSite {
	t.Helper()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "test-client-secret", RedirectURIs: []string{probedOrigin + "/api/auth/callback/op"}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	s := &probedSite{t: t, op: op, dir: t.TempDir()}
	s.file = filepath.Join(s.dir, "authsvc.yaml")
	yaml := testConfig(probedOrigin, s.op, "storage: {url: \"memory:\"}", "trusted_proxies: [127.0.0.1/32]", "gate:", "  hosts:", "    - origin: "+probedOrigin, "      rules:",
		"        - {match: /public/, allow: anyone}", "        - {match: /admin/, allow: {emails: [ada@example.com]}}", "        - {match: \"POST /hooks/{id}\", allow: signed_in}")
	yaml += strings.Join(hosts, "\n")
	if err := os.WriteFile(s.file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{ctx: t.Context(), configPath: s.file, stderr: t.Output(), env: map[string]string{}}
	settings, err := p.load(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := settings.Engine
	c.Adapter, c.Logger = memory.New(), slog.New(slog.NewTextHandler(t.Output(), nil))
	if s.service, err = engine.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.service.Close(context.Background()) })
	s.front = s.service
	return s
}

// A front is the server in front of the program. check passes a request to next if the
// gate allows it.
type front func(check func(next http.Handler) http.Handler, program http.Handler) http.Handler

func asDocumented(check func(next http.Handler) http.Handler, program http.Handler) http.Handler {
	return check(program)
}

func toHTTPS(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "https://"+r.Host+r.RequestURI, http.StatusMovedPermanently)
}

// probe runs the command against a front. It returns the exit code, the findings and
// the output.
func (s *probedSite) probe(how front, plain http.Handler, port bool, args ...string) (code int, findings []probe.Finding, stdout string) {
	s.t.Helper()
	program := probe.Echo()
	inner := how(s.service.Guard, program)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/auth/") {
			s.front.ServeHTTP(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	})
	secure, byHTTP, own := httptest.NewUnstartedServer(handler), httptest.NewServer(plain), httptest.NewServer(program)
	secure.EnableHTTP2 = !s.oneOnly
	secure.StartTLS()
	s.t.Cleanup(func() { secure.Close(); byHTTP.Close(); own.Close() })
	b := browser.New(probedOrigin, s.transport(secure))
	if err := b.SignIn(s.op, "ada"); err != nil {
		s.t.Fatal(err)
	}
	s.cuts.Store(true)
	ca, cookies := filepath.Join(s.t.TempDir(), "ca.pem"), filepath.Join(s.t.TempDir(), "cookies")
	var line []string
	u, _ := http.NewRequest(http.MethodGet, probedOrigin, nil)
	for _, c := range b.Client.Jar.Cookies(u.URL) {
		line = append(line, c.Name+"="+c.Value)
	}
	raw := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	for name, content := range map[string][]byte{ca: raw, cookies: []byte(strings.Join(line, "; "))} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	all := append([]string{"probe", "-c", s.file, "--ca-file", ca, "--cookie-file", cookies, "--rate", "1000"}, args...)
	to := map[string]string{"443": secure.Listener.Addr().String(), "80": byHTTP.Listener.Addr().String()}
	if port {
		to["8080"] = own.Listener.Addr().String()
	}
	for _, number := range strings.Fields("443 80 3000 5000 5173 8000 8080 8081 8443 9000") {
		if to[number] == "" {
			to[number] = "127.0.0.1:1" // no listener
		}
		all = append(all, "--connect-to", "example.com:"+number+"="+to[number], "--connect-to", "sub.example.com:"+number+"="+to[number])
	}
	var out, errs bytes.Buffer
	code = run(s.t.Context(), all, nil, strings.NewReader(""), &out, &errs)
	if errs.Len() > 0 {
		s.t.Error(errs.String())
	}
	for line := range strings.Lines(out.String()) {
		var f probe.Finding
		if json.Unmarshal([]byte(line), &f) == nil {
			findings = append(findings, f)
		}
	}
	return code, findings, out.String()
}

func (s *probedSite) transport(server *httptest.Server) http.RoundTripper {
	return server.Client().Transport // it resolves example.com to itself
}

// bypassed passes requests through a hole to the program, without identity headers.
func bypassed(hole func(r *http.Request) bool) front {
	return func(check func(http.Handler) http.Handler, program http.Handler) http.Handler {
		checked := check(program)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if hole(r) {
				stripped(r, nil)
				program.ServeHTTP(w, r)
				return
			}
			checked.ServeHTTP(w, r)
		})
	}
}

// stripped removes identity headers except those to keep.
func stripped(r *http.Request, keep func(name string) bool) {
	for name := range r.Header {
		if strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), "x-auth-") && (keep == nil || !keep(name)) {
			delete(r.Header, name)
		}
	}
}

// opensWithout has an open path whose requests keep the identity headers that keep
// selects.
func opensWithout(keep func(r *http.Request, name string) bool) front {
	return func(check func(http.Handler) http.Handler, program http.Handler) http.Handler {
		checked := check(program)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.RequestURI == "/public/probe" {
				stripped(r, func(name string) bool { return keep(r, name) })
				program.ServeHTTP(w, r)
				return
			}
			checked.ServeHTTP(w, r)
		})
	}
}

// takesTargets asks about the target that the client claims.
func takesTargets(check func(http.Handler) http.Handler, program http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.Clone(r.Context())
		if said := r.Header.Get("X-Original-Url"); strings.HasPrefix(said, "/") {
			asked.RequestURI = said
		}
		check(http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) {
			got.RequestURI = r.RequestURI
			program.ServeHTTP(w, got)
		})).ServeHTTP(w, asked)
	})
}

// keepsAnswers asks only once about each target.
func keepsAnswers(check func(http.Handler) http.Handler, program http.Handler) http.Handler {
	var allowed sync.Map
	checked := check(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed.Store(r.RequestURI, true)
		program.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, yes := allowed.Load(r.RequestURI); yes {
			stripped(r, nil)
			program.ServeHTTP(w, r)
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// servesHandOver switches connections to cleartext HTTP/2 where anyone may pass, and hides
// the request for it when it asks.
func servesHandOver(check func(http.Handler) http.Handler, program http.Handler) http.Handler {
	type asked struct{}
	checked := check(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(asked{}) != nil {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "h2c")
			w.WriteHeader(http.StatusSwitchingProtocols)
			return
		}
		program.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "h2c" {
			r = r.Clone(context.WithValue(r.Context(), asked{}, true))
			r.Header.Del("Upgrade")
		}
		checked.ServeHTTP(w, r)
	})
}

// then puts one front in front of another.
func (f front) then(next front) front {
	return func(check func(http.Handler) http.Handler, program http.Handler) http.Handler {
		return f(func(inner http.Handler) http.Handler { return next(check, inner) }, program)
	}
}

// uncheckedAdmin has a location of its own for a closed path.
var uncheckedAdmin = bypassed(func(r *http.Request) bool { return r.RequestURI == "/admin/probe" })

// planted returns fronts by the kinds of their holes.
func planted() map[string]front {
	return map[string]front{
		"default-server unchecked-host": bypassed(func(*http.Request) bool { return true }),
		"default-server exempt-request h2c-upgrade http2 two-hosts unchecked-path unchecked-suffix websocket": uncheckedAdmin.then(bypassed(func(r *http.Request) bool {
			return r.Host != "example.com" || strings.HasSuffix(r.URL.Path, ".css") || r.Header.Get("Upgrade") != "" || strings.HasPrefix(r.Header.Get("X-Forwarded-For"), "10.")
		})),
		"connection-header http2-header identity-header": opensWithout(func(_ *http.Request, name string) bool { return name == "X-Auth-Email" }),
		"connection-header": opensWithout(func(r *http.Request, name string) bool {
			return strings.Contains(strings.Join(r.Header["Connection"], ","), name)
		}),
		"client-target http2 http2-header reading underscore-header": opensWithout(func(_ *http.Request, name string) bool { return strings.Contains(name, "_") }).then(
			bypassed(func(r *http.Request) bool { return strings.HasPrefix(r.RequestURI, "/public/probe/..") })).then(takesTargets),
		"cached": keepsAnswers,
		"h2c-upgrade http2 http2-header": bypassed(func(r *http.Request) bool { return r.ProtoMajor == 2 && r.URL.Path == "/admin/probe" }).then(
			opensWithout(func(r *http.Request, _ string) bool { return r.ProtoMajor == 2 })).then(servesHandOver),
		"framing": bypassed(func(r *http.Request) bool { return len(r.TransferEncoding) > 0 }),
	}
}

// TestProbeFindsHoles: each hole is found under its name, and nothing else is reported
// as one. The echo runs in place of the program, and the program itself where that is
// enough.
func TestProbeFindsHoles(t *testing.T) {
	t.Parallel()
	s := newProbedSite(t)
	expect := func(names string, code int, findings []probe.Finding) {
		t.Helper()
		found := map[string]string{}
		for _, f := range findings {
			if f.Result == probe.Hole {
				found[f.Kind] = f.Request + ": " + f.Why
				if len(f.Fix) == 0 {
					t.Errorf("%s has no fix", f.Kind)
				}
			}
		}
		if got := strings.Join(slices.Sorted(maps.Keys(found)), " "); got != names || code != exitFailed {
			t.Errorf("%s: exit code %d, %d findings, holes: %v", names, code, len(findings), found)
		}
	}
	for names, how := range planted() {
		code, findings, _ := s.probe(how, http.HandlerFunc(toHTTPS), false, "--echo", "--json")
		expect(names, code, findings)
	}
	code, findings, _ := s.probe(asDocumented, probe.Echo(), true, "--port", "8080", "--json")
	expect("http-port program-port", code, findings)
}

// TestProbeFindsNothing: without mistakes, nothing is reported, and every kind is
// tried.
func TestProbeFindsNothing(t *testing.T) {
	t.Parallel()
	s := newProbedSite(t)
	for _, args := range [][]string{{"--echo", "--json"}, {"--json"}} {
		code, findings, out := s.probe(asDocumented, http.HandlerFunc(toHTTPS), false, args...)
		tried := map[string]int{}
		for _, f := range findings {
			if f.Result == probe.Skipped {
				tried[f.Kind] += 0
				continue
			}
			if tried[f.Kind]++; f.Result != probe.OK {
				t.Errorf("%v: %+v", args, f)
			}
		}
		for name, n := range tried {
			if n == 0 && args[0] == "--echo" {
				t.Errorf("%s was not tried", name)
			}
		}
		if code != exitOK || len(findings) < 150 || len(findings) > probe.MaxRequests || len(tried) < 22 {
			t.Errorf("%v: exit code %d, %d findings, %v\n%.2000s", args, code, len(findings), tried, out)
		}
	}
	code, _, out := s.probe(asDocumented, http.HandlerFunc(toHTTPS), false)
	if last := out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:]; code != exitOK || !strings.Contains(last, ": 0 holes, 0 broken, 0 unclear, 0 failed, ") {
		t.Errorf("exit code %d, %q", code, last)
	}
	for _, secret := range []string{"authsvc.session=e", "__Host-authsvc"} {
		if strings.Contains(strings.ReplaceAll(out, "__Host-authsvc.session=probe; __Host-authsvc.gate=probe", ""), secret) {
			t.Errorf("the cookies are printed: %s", secret)
		}
	}
}

// TestProbeFindsBroken: if no one can sign in, that is reported as broken, not as a
// hole.
func TestProbeFindsBroken(t *testing.T) {
	t.Parallel()
	beside := "    - {origin: \"https://sub.example.com\"}\n"
	without := func(path string) func(s *probedSite) http.Handler {
		return func(s *probedSite) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rec := httptest.NewRecorder()
				if s.service.ServeHTTP(rec, r); r.URL.Path == path && s.cuts.Load() {
					rec.Header().Del("Set-Cookie")
				}
				maps.Copy(w.Header(), rec.Header())
				w.WriteHeader(rec.Code)
				w.Write(rec.Body.Bytes())
			})
		}
	}
	for name, tt := range map[string]struct {
		front          func(s *probedSite) http.Handler
		origin, broken string // expected findings; "": none
	}{
		"as documented":               {func(s *probedSite) http.Handler { return s.service }, "https://sub.example.com", ""},
		"Set-Cookie of the hand-over": {without("/api/auth/gate/start"), "https://sub.example.com", "answered 302 without the cookie that authsvc sets"},
		"Set-Cookie at the login":     {without("/api/auth/csrf"), "https://example.com", "answered 200 without the cookie that authsvc sets"},
		"gated itself":                {func(s *probedSite) http.Handler { return s.unless(s.service.Guard(probe.Echo())) }, "https://example.com", "is itself checked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newProbedSite(t, beside)
			s.front = tt.front(s)
			code, findings, _ := s.probe(asDocumented, http.HandlerFunc(toHTTPS), false, "--json", "--origin", tt.origin)
			broken := 0
			for _, f := range findings {
				switch {
				case f.Result == probe.Broken && f.Kind == "set-cookie" && len(f.Fix) > 0 && tt.broken != "":
					if strings.Contains(f.Why, tt.broken) {
						broken++
					}
				case f.Result == probe.Broken, f.Result == probe.Hole, f.Origin != tt.origin:
					t.Errorf("%+v", f)
				}
			}
			if want := tt.broken != ""; broken > 0 != want || code != exitFailed && want || code != exitOK && !want {
				t.Errorf("exit code %d, %d findings, %d as expected", code, len(findings), broken)
			}
		})
	}
}

// TestProbeWithoutHTTP2: if HTTP/2 is not offered, it is skipped and not a hole.
func TestProbeWithoutHTTP2(t *testing.T) {
	t.Parallel()
	s := newProbedSite(t)
	s.oneOnly = true
	code, findings, _ := s.probe(asDocumented, http.HandlerFunc(toHTTPS), false, "--echo", "--json")
	skipped := map[string]string{}
	for _, f := range findings {
		if f.Kind == "http2" || f.Kind == "http2-header" {
			skipped[f.Kind] += f.Result + " " + f.Why
		}
	}
	if want := "skipped the origin offers no HTTP/2"; code != exitOK || skipped["http2"] != want || skipped["http2-header"] != want {
		t.Errorf("exit code %d, %v", code, skipped)
	}
}

// TestProbeWords: the text about a hole, and errors about what cannot be probed.
func TestProbeWords(t *testing.T) {
	t.Parallel()
	s := newProbedSite(t)
	code, _, out := s.probe(uncheckedAdmin, http.HandlerFunc(toHTTPS), false)
	for _, want := range []string{
		"hole     https://example.com unchecked-path: GET /admin/probe: the program was reached: it received GET /admin/probe\n",
		"         nginx: every location that leads to the program needs auth_request", "\n         HAProxy: ", "\n         Caddy: ", "skipped  https://example.com identity-header: needs authsvc echo",
	} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, out)
		}
	}
	closed := "example.com:443=127.0.0.1:1"
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"another host": {[]string{"--origin", "https://other.example.com"}, exitUsage, "is not a host of gate.hosts"},
		"over http":    {[]string{"--origin", "http://example.com"}, exitUsage, "is not a host of gate.hosts"},
		"no address":   {[]string{"--connect-to", "example.com"}, exitUsage, "write HOST:PORT=ADDRESS:PORT"},
		"too fast":     {[]string{"--rate", "1e9"}, exitUsage, "--rate"},
		"no cookies":   {[]string{"--cookie-file", filepath.Join(s.dir, "none")}, exitUsage, "--cookie-file"},
		"not cookies":  {[]string{"--cookie-file", s.file}, exitUsage, "is neither a line"},
		"no answer":    {[]string{"--connect-to", closed}, exitFailed, "1 attempt: 0 holes, 0 broken, 0 unclear, 1 failed"},
	} {
		var out bytes.Buffer
		code := run(t.Context(), append([]string{"probe", "-c", s.file}, tt.args...), nil, strings.NewReader(""), &out, &out)
		if code != tt.code || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: exit code %d\n%s", name, code, out.String())
		}
	}
}

// TestSampleOf: the sample of a rule matches the rule.
func TestSampleOf(t *testing.T) {
	t.Parallel()
	for match, want := range map[string]string{"/": "/probe", "/admin/": "/admin/probe", "/exact": "/exact", "GET /a/{x}/b": "GET /a/probe/b", "/files/{rest...}": "/files/probe", "/a/{$}": "/a/", "/{$}": "/", "/ä/": "/%C3%A4/probe"} {
		if got := sampleOf(match); got != want {
			t.Errorf("%s: %s", match, got)
		}
		mux := http.NewServeMux()
		mux.HandleFunc(match, func(http.ResponseWriter, *http.Request) {})
		_, path, found := strings.Cut(want, " ")
		if !found {
			path = want
		}
		if _, pattern := mux.Handler(httptest.NewRequest(http.MethodGet, path, nil)); pattern != match {
			t.Errorf("%s does not match %s", path, match)
		}
	}
}

// TestEchoCommand: echo listens on loopback by default, and reports its address.
func TestEchoCommand(t *testing.T) {
	t.Parallel()
	addr := freeAddress(t)
	l := newProcess(t, t.TempDir(), addr, "")
	l.cmd.Args = []string{"authsvc", "echo", "--listen", addr}
	l.start()
	status, body := getStatus(t, "http://"+addr+"/a?b=c")
	if want := fmt.Sprintf("\"target\": \"/a?b=c\",\n  \"host\": %q", addr); status != http.StatusOK || !strings.Contains(body, want) {
		t.Errorf("%d %s", status, body)
	}
}
