package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing/synctest"
	"time"
	"unicode"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/process"
)

// auditForged is the line that an injection tries to create.
const auditForged = "event=user.deleted outcome=success"

// auditPieces break lines, terminals and records.
var auditPieces = []string{"\r\n", "\n", "\r", "\x1b[2J\x1b[31m", "\x9b31m", "\x00", "\x07", "\b\b\b", "\t", "\u2028", "\u2029", "\u0085", "\u202e", "\ufeff", "\"", "'", "\\", "\\n", `"}`, `","level":"ERROR","msg":"`, "\xff\xfe",
	`{"level":"ERROR"}`, " level=ERROR msg=audit " + auditForged, "%0d%0a", "${jndi:ldap://x}", "<script>", "=", " ", "🔑", strings.Repeat("A", 3000)}

func audit03(t *T) {
	rounds := t.Scale("hostile values in every place, in each mode and format", 60, 300, 20_000)
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *T) {
			logs := &arena.LogBuffer{}
			hostile := "x"
			w := t.Enter(func(c *authsvc.Config) {
				o := &slog.HandlerOptions{Level: slog.LevelDebug}
				if c.Logger = slog.New(slog.NewTextHandler(logs, o)); format == "json" {
					c.Logger = slog.New(slog.NewJSONHandler(logs, o))
				}
				c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
					if a.VerificationRequest {
						return "", nil
					}
					return "", errors.New(hostile)
				}
				c.Providers[1].(*authsvc.Email).Send = func(context.Context, authsvc.Message) error {
					return fmt.Errorf("%w: %s", authsvc.ErrMailRefused, strings.Join(auditPieces, ""))
				}
				c.Providers[2].(*authsvc.Credentials).Authorize = func(context.Context, map[string]string) (authsvc.User, error) {
					return authsvc.User{}, errors.New(hostile)
				}
			})
			for i := range rounds {
				hostile = auditPieces[i%len(auditPieces)] + auditForged
				for range rand.IntN(5) {
					hostile += auditPieces[rand.IntN(len(auditPieces))]
				}
				auditInject(w, hostile, i)
			}
			time.Sleep(50 * time.Millisecond) // for the mail queue
			auditLines(t, format, logs.String())
		})
	}
}

// auditInject puts a value everywhere that a request can carry one.
func auditInject(w *arena.World, v string, i int) {
	b := w.Browser()
	escaped := url.QueryEscape(v)
	header := http.Header{}
	for _, name := range []string{"User-Agent", "X-Request-Id", "X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Accept-Language", "Referer", "Traceparent"} {
		header[name] = []string{v}
	}
	b.Header = header
	b.IP = "10.1.2.3:1"
	if i%7 == 0 {
		b.IP = v
	}
	for _, path := range []string{"/api/auth/callback/op?code=" + escaped + "&state=" + escaped, "/api/auth/callback/op?error=" + escaped + "&error_description=" + escaped + "&state=" + escaped,
		"/api/auth/callback/email?token=" + escaped + "&email=" + escaped, "/api/auth/error?error=" + escaped, "/api/auth/signin/" + url.PathEscape(v), "/api/auth/" + url.PathEscape(v), "/api/auth/signin?callbackUrl=" + escaped} {
		r := httptest.NewRequest(http.MethodGet, "https://app.test/", nil)
		if u, err := url.Parse(b.Abs(path)); err == nil {
			r.URL = u
		}
		r.RequestURI = path
		b.Clone().Do(r)
	}
	token := b.CSRF()
	b.Clone().Post("/api/auth/signin/email", "csrfToken", token, "email", v, "callbackUrl", v)
	b.Clone().Post("/api/auth/callback/credentials", "csrfToken", token, "username", v, "password", v)
	b.Clone().Post("/api/auth/signin/op", "csrfToken", v)
	b.Clone().Post("/api/auth/_log", "level", v, "code", v, "message", v)
	foreign := b.Clone()
	foreign.Header = header.Clone()
	foreign.Header["Origin"], foreign.Header["Sec-Fetch-Site"] = []string{v}, []string{v}
	foreign.Post("/api/auth/signout", "csrfToken", token)
	b.Clone().Post("/api/auth/signin/email", "csrfToken", token, "email", fmt.Sprintf("someone%d@app.test", i))
	auditProvider(w, b, token, v, i)
}

// auditProvider makes the provider answer with the value.
func auditProvider(w *arena.World, b *arena.Browser, token, v string, i int) {
	w.OP.SetFault([]idp.Fault{
		{Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointToken: func(rw http.ResponseWriter, _ *http.Request) bool {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusBadRequest)
			json.NewEncoder(rw).Encode(map[string]string{"error": v, "error_description": v})
			return true
		}}},
		accountClaim("iss", v), accountClaim("aud", v), accountClaim("sub", v), accountClaim("name", v),
		{IDTokenHeader: func(h map[string]any) { h["kid"], h["alg"] = v, v }},
	}[i%6])
	c := b.Clone()
	if a := c.Post("/api/auth/signin/op", "csrfToken", token); strings.HasPrefix(a.Location(), w.OP.Issuer()) {
		if answer, err := w.OP.Approve(a.Location(), "ada"); err == nil {
			c.Get(answer.URL())
		}
	}
	w.OP.SetFault(idp.Fault{})
}

// auditLines checks that each line is one valid record, contains only printable
// characters, and was written by us.
func auditLines(t *T, format, logs string) {
	t.Helper()
	records := 0
	for line := range strings.Lines(logs) {
		line = strings.TrimSuffix(line, "\n")
		records++
		if strings.ContainsFunc(line, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
			t.Errorf("not printed: %.300q", line)
		}
		if format == "text" {
			if fields, err := auditFields(line); err != nil || fields["time"] == "" || fields["level"] == "" || fields["event"] == "user.deleted" {
				t.Errorf("no record, or a forged one: %v in %.300q", err, line)
			}
			continue
		}
		var v map[string]any
		d := json.NewDecoder(strings.NewReader(line))
		if err := d.Decode(&v); err != nil || d.More() || v["time"] == nil || v["level"] == nil || v["msg"] == nil {
			t.Errorf("no record: %v in %.300q", err, line)
		}
		if v["event"] == "user.deleted" || v["msg"] == "reported by a browser" && v["level"] != "DEBUG" {
			t.Errorf("forged: %.300q", line)
		}
	}
	if !strings.Contains(logs, "user.deleted") || records < 100 {
		t.Errorf("twin: %d records, none with what was sent", records)
	}
	t.Figure("%s: %d records", format, records)
}

// auditFields parses a line of key=value. A value with special characters is a quoted
// Go string.
func auditFields(line string) (map[string]string, error) {
	fields := map[string]string{}
	for rest := line; rest != ""; {
		key, after, ok := strings.Cut(rest, "=")
		if !ok || strings.ContainsAny(key, ` "`) || fields[key] != "" {
			return nil, fmt.Errorf("key %q", key)
		}
		if quoted, err := strconv.QuotedPrefix(after); err == nil {
			if fields[key], err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
			after = after[len(quoted):]
			if after != "" && after[0] != ' ' {
				return nil, fmt.Errorf("%q after a value", after)
			}
			rest = strings.TrimPrefix(after, " ")
			continue
		}
		fields[key], rest, _ = strings.Cut(after, " ")
	}
	return fields, nil
}

// audit04 runs the program with a log that nothing reads: a pipe that fills up.
func audit04(t *T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	base, cmd := auditStart(t, write)
	write.Close()
	v := browser.New(base, nil)
	slowest := time.Duration(0)
	requests := t.Scale("requests with a full pipe", 900, 1500, 20_000) // the pipe holds about 400 lines, the queue 1024
	for range requests {
		began := time.Now()
		if a, err := v.Get("/api/auth/callback/op?code=x&state=y"); err != nil || a.StatusCode != http.StatusFound {
			t.Fatalf("%v %v", a, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	t.Figure("slowest %v", slowest.Round(time.Millisecond))
	if slowest > within(5*time.Second) {
		t.Errorf("a request took %v", slowest)
	}
	told := make(chan bool, 1)
	go func() {
		var all []byte
		chunk := make([]byte, 64<<10)
		for !bytes.Contains(all, []byte("log lines were dropped")) {
			n, err := read.Read(chunk)
			if all = append(all, chunk[:n]...); err != nil {
				told <- false
				return
			}
		}
		told <- true
	}()
	select {
	case ok := <-told:
		if !ok {
			t.Error("the drops were not counted")
		}
	case <-time.After(patience):
		t.Error("the drops were not reported in time")
	}
	read.Close() // now the reader goes away
	for range 20 {
		if a, err := v.Get("/api/auth/callback/op?code=x&state=y"); err != nil || a.StatusCode != http.StatusFound {
			t.Fatalf("%v %v", a, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("twin: it does not stop cleanly: %v", err)
	}
}

// auditStart runs the program with log as its output.
func auditStart(t *T, log *os.File) (base string, cmd *exec.Cmd) {
	t.Helper()
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	base = fmt.Sprintf("http://127.0.0.1:%d", port)
	cmd = exec.CommandContext(t.Context(), process.Binary(t), "serve")
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), log, log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "AUTHSVC_STORAGE_URL=memory:"}
	config := strings.ReplaceAll(process.NewNeighbours(t).YAML(fmt.Sprintf("listen: 127.0.0.1:%d\n", port)), "{origin}", base)
	if err := os.WriteFile(filepath.Join(cmd.Dir, "authsvc.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	smtpfaultUntil(t, func() bool {
		a, err := browser.New(base, nil).Get("/readyz")
		return err == nil && a.StatusCode == http.StatusOK
	})
	return base, cmd
}

// audit06 tests the endpoint to which the NextAuth.js client sends its logs.
func audit06(t *T) {
	emailBubble(t, func(t *T) {
		w := t.EnterOffline(abuseLimited)
		b := w.Browser()
		reported := func() int { return strings.Count(w.Logs.String(), "reported by a browser") }
		for contentType, body := range map[string]string{"application/x-www-form-urlencoded": "message=" + strings.Repeat("x", 10<<20), "application/json": `{"message":"` + strings.Repeat("x", 10<<20) + `"}`} {
			began := time.Now()
			if a := b.Raw("/api/auth/_log", contentType, body); a.StatusCode != http.StatusRequestEntityTooLarge && a.StatusCode != http.StatusBadRequest {
				t.Errorf("10 MB: %d", a.StatusCode)
			}
			if time.Since(began) > 0 || reported() != 0 {
				t.Error("10 MB were logged")
			}
		}
		for range t.Scale("reports in a second in each mode", 1000, 5000, 10_000) {
			b.Form("/api/auth/_log", url.Values{"level": {"error"}, "code": {"CLIENT_FETCH_ERROR"}, "message": {"x\r\nlevel=ERROR msg=audit " + auditForged}})
		}
		synctest.Wait()
		if n := reported(); n > 30 {
			t.Errorf("%d reports of one client are logged", n)
		}
		if w.Audits.Load() > 1 || strings.Contains(w.Logs.String(), "level=ERROR") && !strings.Contains(w.Logs.String(), `level=ERROR msg=audit `+auditForged) {
			t.Errorf("%d events, or an error in the log", w.Audits.Load())
		}
		time.Sleep(time.Minute)
		before := reported()
		if a := b.Form("/api/auth/_log", url.Values{"level": {"error"}, "code": {"X"}, "message": {"hello from a page"}}); a.StatusCode != http.StatusOK || reported() != before+1 {
			t.Errorf("twin: one report: %d, %d logged", a.StatusCode, reported()-before)
		}
		for line := range strings.Lines(w.Logs.String()) {
			switch {
			case !strings.HasPrefix(line, "time="):
				t.Errorf("a separate line: %q", line)
			case strings.Contains(line, "reported by a browser") && !strings.Contains(line, " level=DEBUG "), strings.Contains(line, "hello from a page") && !strings.Contains(line, "by a browser"):
				t.Errorf("it is not marked as untrusted: %q", line)
			}
		}
		for _, header := range [][2]string{{"Origin", "https://evil.test"}, {"Sec-Fetch-Site", "cross-site"}} {
			before := w.Ledger.Lasting()
			b.Form("/api/auth/_log", url.Values{"message": {"x"}}, header[0], header[1])
			if w.Ledger.Lasting() != before {
				t.Error("a report changes something")
			}
		}
	})
}
