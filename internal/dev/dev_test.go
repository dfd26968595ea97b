package dev_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"authsvc/internal/dev"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/logbuffer"
)

// patience limits how long the tests wait for something certain on a busy machine.
const patience = time.Minute

// freePorts finds a port whose successor is free too.
func freePorts(t *testing.T) int {
	t.Helper()
	port, err := freeport.Pick(2)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// run starts dev, and returns a function that stops it and waits for its end.
func run(t *testing.T, dir string, port int) (out *logbuffer.Buffer, stop func()) {
	t.Helper()
	return runWith(t, dev.Options{Dir: dir, Port: port})
}

// runWith is run with further options.
func runWith(t *testing.T, o dev.Options) (out *logbuffer.Buffer, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out = &logbuffer.Buffer{}
	done := make(chan error, 1)
	o.Host, o.Out, o.Log = "localhost", out, slog.New(slog.NewTextHandler(t.Output(), nil))
	go func() { done <- dev.Run(ctx, o) }()
	awaitWelcome(t, out, done)
	return out, func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("dev ended with %v", err)
		}
	}
}

// awaitWelcome waits until dev reports that it is running.
func awaitWelcome(t *testing.T, out *logbuffer.Buffer, done <-chan error) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(out.String(), "Ctrl-C"); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-done:
			t.Fatalf("dev ended: %v", err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("dev did not start")
		}
	}
}

// A visitor follows redirects, and fails the test on any error.
type visitor struct {
	t *testing.T
	*browser.Browser
}

func visit(t *testing.T, port int) *visitor {
	t.Helper()
	return &visitor{t, browser.New(fmt.Sprintf("http://localhost:%d", port), nil).Follow()}
}

func (v *visitor) get(path string) *browser.Answer {
	v.t.Helper()
	return v.must(v.Get(path))
}

func (v *visitor) post(path string, fields ...string) *browser.Answer {
	v.t.Helper()
	return v.must(v.Post(path, fields...))
}

func (v *visitor) must(a *browser.Answer, err error) *browser.Answer {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	return a
}

func (v *visitor) email() string {
	v.t.Helper()
	email, err := v.Email()
	if err != nil {
		v.t.Fatal(err)
	}
	return email
}

func (v *visitor) userID() string {
	v.t.Helper()
	var session struct{ User struct{ ID string } }
	if err := json.Unmarshal([]byte(v.get("/api/auth/session").Text), &session); err != nil || session.User.ID == "" {
		v.t.Fatalf("the session has no user: %v", err)
	}
	return session.User.ID
}

func TestDev(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePorts(t)
	out, stop := run(t, dir, port)
	if !strings.Contains(out.String(), fmt.Sprintf("http://localhost:%d\n", port)) {
		t.Errorf("does not say what to open:\n%s", out)
	}
	v := visit(t, port)
	if home := v.get("/"); !strings.Contains(home.Text, "You are not signed in") || strings.Contains(home.Text, "/api/auth/account") {
		t.Errorf("home page: %s", home.Text)
	}

	t.Log("by the identity provider, choosing a person on its page")
	people := v.post("/api/auth/signin/dev", "callbackUrl", "/")
	if !strings.Contains(people.Text, "Ada Lovelace") {
		t.Fatalf("no people at %s: %s", people.Request.URL, people.Text)
	}
	if a := v.choose(people, "Ada Lovelace"); a.Request.URL.Path != "/" || !strings.Contains(a.Text, "ada@example.com") {
		t.Fatalf("after choosing: %s %s", a.Request.URL, a.Text)
	} else if link := fmt.Sprintf(`href="http://localhost:%d/api/auth/account"`, port); !strings.Contains(a.Text, link) {
		t.Errorf("the home page does not lead to the account: %s", a.Text)
	} else if account := v.get("/api/auth/account"); !strings.Contains(account.Text, "Where you are signed in") {
		t.Errorf("the account page: %s", account.Text)
	}

	t.Log("by a mailed link, opened from the inbox")
	w := visit(t, port)
	if asked := w.post("/api/auth/signin/email", "email", "new@app.example", "callbackUrl", "/"); !strings.Contains(asked.Text, "/inbox") {
		t.Errorf("the page after asking does not lead to the inbox: %s", asked.Text)
	}
	if got := w.openMail(); got.Request.URL.Path != "/" || w.email() != "new@app.example" {
		t.Errorf("after the link: %s as %q", got.Request.URL, w.email())
	}

	t.Log("a notice, whose link undoes the change")
	if a := w.choose(w.post("/api/auth/signin/dev", "link", "true", "callbackUrl", "/"), "Grace Hopper"); w.email() != "new@app.example" || !strings.Contains(out.String(), "new@app.example added ") {
		t.Fatalf("adding a way to sign in: %s as %q\n%s", a.Request.URL, w.email(), out)
	}
	undo := w.findMail(`<a class="button" href="([^"]+)">Undo this change</a>`)
	if page := w.get(undo); !strings.Contains(page.Text, "Undo this change?") || w.email() == "" {
		t.Errorf("the page of the link: %s", page.Text)
	}
	if a := w.post("/api/auth/account/undo", "token", undo[strings.Index(undo, "token=")+6:]); !strings.Contains(a.Text, "The change has been undone") || w.email() != "" {
		t.Errorf("after the undo: %s as %q", a.Text, w.email())
	}
	if !strings.Contains(out.String(), "a notice was mailed: ") {
		t.Errorf("does not say where the notice is:\n%s", out)
	}
	w.findMail(`<h2 id="mail">(A way to sign in was removed)`)
	w.post("/api/auth/signin/email", "email", "new@app.example", "callbackUrl", "/")
	w.openMail()

	t.Log("a restart keeps sessions, people and mails")
	stop()
	_, stop = run(t, dir, port)
	defer stop()
	if v.email() != "ada@example.com" || w.email() != "new@app.example" {
		t.Errorf("after a restart: %q and %q", v.email(), w.email())
	}
	if inbox := v.get("/inbox"); !strings.Contains(inbox.Text, "new@app.example") {
		t.Error("the mail is gone after a restart")
	}
	v.post("/api/auth/signout")
	if got := v.email(); got != "" {
		t.Errorf("after sign-out still %q", got)
	}
}

var formAction = regexp.MustCompile(`action="([^"]+)"`)

// choose posts the form of one person on the provider's page.
func (v *visitor) choose(at *browser.Answer, name string) *browser.Answer {
	v.t.Helper()
	form := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(at.Text, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	button := regexp.MustCompile(`<button[^>]*name="([^"]+)"[^>]*value="([^"]+)"[^>]*>(?:[^<]|</?[^/b])*?` + name).FindStringSubmatch(at.Text)
	if button == nil {
		v.t.Fatalf("no button for %s in %s", name, at.Text)
	}
	form.Set(button[1], button[2])
	action, err := at.Request.URL.Parse(html.UnescapeString(formAction.FindStringSubmatch(at.Text)[1]))
	if err != nil {
		v.t.Fatal(err)
	}
	return v.must(v.Form(action.String(), form))
}

// openMail follows the link of the newest mail.
func (v *visitor) openMail() *browser.Answer {
	v.t.Helper()
	return v.get(v.findMail(`<a class="button primary" href="([^"]+/callback/email[^"]+)">Open the link`))
}

// findMail waits until the newest mail has a link, and returns it.
func (v *visitor) findMail(link string) string {
	v.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if m := regexp.MustCompile(link).FindStringSubmatch(v.get("/inbox").Text); m != nil {
			return html.UnescapeString(m[1])
		}
	}
	v.t.Fatalf("no mail has a link %s: %s", link, v.get("/inbox").Text)
	return ""
}

func TestDevRefuses(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]dev.Options{
		"beyond loopback": {Host: "0.0.0.0", Port: 3000},
		"a name":          {Host: "app.example", Port: 3000},
		"no port":         {Host: "localhost", Port: 0},
		"a public URL":    {Host: "localhost", Port: 3000, URL: "https://app.example"},
		"more than a URL": {Host: "localhost", Port: 3000, URL: "http://localhost:5173/path"},
	} {
		o.Dir, o.Out, o.Log = t.TempDir(), io.Discard, slog.Default()
		if err := dev.Run(t.Context(), o); err == nil {
			t.Errorf("%s: dev ran", name)
		}
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := busy.Addr().(*net.TCPAddr).Port
	err = dev.Run(t.Context(), dev.Options{Dir: t.TempDir(), Host: "localhost", Port: port, Out: io.Discard, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "not free") || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("a port that is taken: %v", err)
	}
	err = dev.Run(t.Context(), dev.Options{Dir: t.TempDir(), Host: "localhost", Port: port - 1, Out: io.Discard, Log: slog.New(slog.DiscardHandler)})
	if want := fmt.Sprintf("port %d, of dev's identity provider, is not free", port); err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), fmt.Sprintf("port %d is not free", port-1)) {
		t.Errorf("the provider's port is taken: %v, want %q", err, want)
	}
}

func TestDevAnswersItsHostOnly(t *testing.T) {
	t.Parallel()
	port := freePorts(t)
	_, stop := run(t, t.TempDir(), port)
	defer stop()
	for host, want := range map[string]int{fmt.Sprintf("localhost:%d", port): 200, fmt.Sprintf("evil.example:%d", port): 421} {
		r, err := http.NewRequest("GET", fmt.Sprintf("http://127.0.0.1:%d/inbox", port), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("Host %s: %d, want %d", host, res.StatusCode, want)
		}
	}
}

// TestInboxClearIsOurs: another site cannot empty the inbox, whether the browser sends
// the relation of the sites or only the origin.
func TestInboxClearIsOurs(t *testing.T) {
	t.Parallel()
	port := freePorts(t)
	_, stop := run(t, t.TempDir(), port)
	defer stop()
	own := fmt.Sprintf("http://localhost:%d", port)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for name, c := range map[string]struct {
		header http.Header
		want   int
	}{
		"our page":                {http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {own}}, 303},
		"our page, older browser": {http.Header{"Origin": {own}}, 303},
		"no browser":              {nil, 303},
		"another site":            {http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}, 403},
		"another port":            {http.Header{"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://localhost:1"}}, 403},
		"another origin alone":    {http.Header{"Origin": {"https://evil.example"}}, 403},
		"another port alone":      {http.Header{"Origin": {"http://localhost:1"}}, 403},
		"an origin without name":  {http.Header{"Origin": {"null"}}, 403},
	} {
		r, err := http.NewRequest("POST", own+"/inbox/clear", nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.header != nil {
			r.Header = c.header
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, c.want)
		}
	}
}

// TestUpstream: a program is behind the sign-in of dev, together with the inbox.
func TestUpstream(t *testing.T) {
	t.Parallel()
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.RequestURI+" for "+r.Header.Get("X-Auth-Email"))
	}))
	t.Cleanup(program.Close)
	port := freePorts(t)
	ctx, cancel := context.WithCancel(context.Background())
	out, done := &logbuffer.Buffer{}, make(chan error, 1)
	go func() {
		done <- dev.Run(ctx, dev.Options{Dir: t.TempDir(), Host: "localhost", Port: port, Upstream: program.URL, Out: out, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	}()
	awaitWelcome(t, out, done)
	b := browser.New(fmt.Sprintf("http://localhost:%d", port), nil)
	for path, want := range map[string]string{"/any?a=b": "the sign-in", "/favicon.ico": "the sign-in", "/inbox": "dev"} {
		a, err := b.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := map[int]string{http.StatusUnauthorized: "the sign-in", http.StatusOK: "dev"}[a.StatusCode]; got != want {
			t.Errorf("%s: %d, want %s", path, a.StatusCode, want)
		}
	}
	a, err := b.Post("/api/auth/signin/dev")
	if err != nil {
		t.Fatal(err)
	}
	people, err := b.Get(a.Location())
	if err != nil {
		t.Fatal(err)
	}
	action := regexp.MustCompile(`<form[^>]* action="([^"]+)"`).FindStringSubmatch(people.Text)
	if action == nil {
		t.Fatalf("no people at %s: %d %s", a.Location(), people.StatusCode, people.Text)
	}
	to, err := people.Request.URL.Parse(html.UnescapeString(action[1]))
	if err != nil {
		t.Fatal(err)
	}
	back, err := b.Form(to.String(), url.Values{"person": {"ada"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(back.Location()); err != nil {
		t.Fatal(err)
	}
	if a, err := b.Get("/any?a=b"); err != nil || a.Text != "/any?a=b for ada@example.com" {
		t.Errorf("%v: %v", err, a)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	wrong := dev.Run(t.Context(), dev.Options{Dir: t.TempDir(), Host: "localhost", Port: freePorts(t), Upstream: "localhost:80", Out: io.Discard, Log: slog.New(slog.DiscardHandler)})
	if wrong == nil || !strings.Contains(wrong.Error(), "--upstream") {
		t.Errorf("an upstream that is none: %v", wrong)
	}
}
