package verify

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

var auditChecks = checks{
	"01": {title: "missing events", run: audit01},
	"02": {title: "secrets in the log", run: audit02},
	"03": {title: "log injection", run: audit03},
	"04": {title: "log sink fails", run: audit04, once: true},
	"05": {title: "metrics cardinality", not: "TestHostileRequestsAddNoSeries of cmd/authsvc checks this; the public address has no metrics (config-05)"},
	"06": {title: "open log endpoint", run: audit06},
}

// An auditKept collects the events that a world reports.
type auditKept struct {
	mu     sync.Mutex
	events []authsvc.AuditEvent
}

func (k *auditKept) listen(c *authsvc.Config) {
	before := c.Events.Audit
	c.Events.Audit = func(ctx context.Context, e authsvc.AuditEvent) {
		before(ctx, e)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.events = append(k.events, e)
	}
}

// take returns the events reported since the last call.
func (k *auditKept) take() []authsvc.AuditEvent {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := k.events
	k.events = nil
	return list
}

// An auditCase is an action and the event names that it must report.
type auditCase struct {
	tune    func(c *authsvc.Config)
	prepare func(w *arena.World, b *arena.Browser)
	run     func(w *arena.World, b *arena.Browser)
	want    string // names separated by spaces
	apart   bool   // not caused by a request
}

func auditViaOp(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "ada") }
func auditViaMail(w *arena.World, b *arena.Browser) {
	b.SignInByMail(w, "ada@app.test")
}
func auditPost(path string, fields ...string) func(*arena.World, *arena.Browser) {
	return func(_ *arena.World, b *arena.Browser) { b.Post(path, fields...) }
}
func auditGet(path string) func(*arena.World, *arena.Browser) {
	return func(_ *arena.World, b *arena.Browser) { b.Get(path) }
}
func auditLimit(set func(*authsvc.RateLimit)) func(*authsvc.Config) {
	return func(c *authsvc.Config) { c.RateLimit.Disabled = false; set(&c.RateLimit) }
}

var auditCases = map[string]auditCase{
	"OAuth":                {run: auditViaOp, want: "sign_in.succeeded"},
	"OAuth, refused":       {run: auditGet("/api/auth/callback/op?code=x&state=y"), want: "sign_in.refused"},
	"OAuth, provider down": {run: auditDown, want: "sign_in.failed"},
	"link":                 {run: auditViaMail, want: "email.requested sign_in.succeeded"},
	"link, wrong":          {run: auditPost("/api/auth/callback/email", "email", "a@app.test", "token", strings.Repeat("x", 43)), want: "sign_in.refused"},
	"address, wrong":       {run: auditPost("/api/auth/signin/email", "email", "nobody"), want: "sign_in.refused"},
	"credentials":          {tune: func(c *authsvc.Config) { c.Session.Strategy = "jwt" }, run: func(_ *arena.World, b *arena.Browser) { b.Login("ada") }, want: "sign_in.succeeded"},
	"credentials, wrong":   {run: auditPost("/api/auth/callback/credentials", "username", "ada", "password", "wrong"), want: "credentials.refused"},
	"linking":              {prepare: auditViaMail, run: func(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "ada", "link", "true") }, want: "account.linked notice.sent sign_in.succeeded"},
	"linking, another's":   {prepare: func(w *arena.World, b *arena.Browser) { auditViaOp(w, w.Browser()); auditViaMail(w, b) }, run: func(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "ada", "link", "true") }, want: "account.link_refused"},
	"address of another":   {prepare: func(w *arena.World, _ *arena.Browser) { w.Browser().SignInByMail(w, "ada@example.com") }, run: auditViaOp, want: "account.not_linked"},
	"unlinking":            {prepare: auditViaOp, run: auditUnlink("ada"), want: "account.unlinked notice.sent", apart: true},
	"unlinking, not there": {prepare: auditViaOp, run: auditUnlink("grace"), want: "account.unlink_refused", apart: true},
	"sign-out":             {prepare: auditViaOp, run: auditPost("/api/auth/signout"), want: "sign_out.succeeded"},
	"no CSRF token":        {run: auditPost("/api/auth/signin/op", "csrfToken", "x"), want: "csrf.refused"},
	"no CSRF token, out":   {prepare: auditViaOp, run: auditPost("/api/auth/signout", "csrfToken", "x"), want: "csrf.refused"},
	"another site":         {run: auditForeign, want: "request.cross_site"},
	"limit of sign-ins":    {tune: auditLimit(func(r *authsvc.RateLimit) { r.SignIn = authsvc.Rate{N: 1, Per: time.Hour} }), prepare: auditPost("/api/auth/signin/op"), run: auditPost("/api/auth/signin/op"), want: "request.limited"},
	"limit of a mailbox":   {tune: auditLimit(func(r *authsvc.RateLimit) { r.EmailPerAddress = authsvc.Rate{N: 1, Per: time.Hour} }), prepare: auditAsk, run: auditAsk, want: "email.limited"},
	"end of all sessions":  {prepare: auditViaOp, run: auditOf(func(w *arena.World, id string) { w.EndSessions(w.T.Context(), id) }), want: "sessions.ended notice.sent", apart: true},
	"deletion":             {prepare: auditViaOp, run: auditOf(func(w *arena.World, id string) { w.DeleteUser(w.T.Context(), id) }), want: "user.deleted", apart: true},
	"configuration":        {run: func(w *arena.World, _ *arena.Browser) { w.ConfigurationChanged(w.T.Context(), nil) }, want: "configuration.changed", apart: true},
	"configuration, wrong": {run: func(w *arena.World, _ *arena.Browser) { w.ConfigurationChanged(w.T.Context(), arena.ErrBroken) }, want: "configuration.change_failed", apart: true},
	"nothing":              {run: func(_ *arena.World, b *arena.Browser) { b.Get("/api/auth/signin"); b.Session(); b.Begin("op") }},
	"veto":                 {tune: auditVeto, run: auditViaOp, want: "sign_in.refused"},
	"veto of a mail":       {tune: auditVeto, run: auditPost("/api/auth/signin/email", "email", "ada@app.test"), want: "email.refused"},
	"the person refused":   {run: auditSaidNo, want: "sign_in.refused"},
	"linking, signed out":  {run: auditPost("/api/auth/signin/op", "link", "true"), want: "sign_in.refused"},
}

func auditAsk(_ *arena.World, b *arena.Browser) {
	b.Post("/api/auth/signin/email", "email", "ada@app.test")
}

func auditVeto(c *authsvc.Config) {
	c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { return "", authsvc.ErrAccessDenied }
}

func auditDown(w *arena.World, b *arena.Browser) {
	to := b.Approve(w.OP, b.Begin("op"), "ada")
	w.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 503}})
	b.Get(to)
}

func auditForeign(_ *arena.World, b *arena.Browser) {
	token := b.CSRF()
	b.Header.Set("Origin", "https://evil.test")
	b.Post("/api/auth/signin/op", "csrfToken", token)
}

func auditSaidNo(w *arena.World, b *arena.Browser) {
	state := arena.MustURL(w.T, b.Begin("op")).Query().Get("state")
	b.Get("/api/auth/callback/op?error=access_denied&state=" + url.QueryEscape(state))
}

func auditUnlink(sub string) func(*arena.World, *arena.Browser) {
	return auditOf(func(w *arena.World, id string) { w.UnlinkAccount(w.T.Context(), id, "op", sub, nil) })
}

func auditOf(f func(w *arena.World, userID string)) func(*arena.World, *arena.Browser) {
	return func(w *arena.World, b *arena.Browser) { f(w, w.Person(w.T, b)) }
}

func audit01(t *T) {
	for name, c := range auditCases {
		t.Run(name, func(t *T) {
			kept := &auditKept{}
			w := t.Enter(func(config *authsvc.Config) {
				kept.listen(config)
				if c.tune != nil {
					c.tune(config)
				}
			})
			b := w.Browser()
			if c.prepare != nil {
				c.prepare(w, b)
			}
			kept.take()
			logged := len(w.Logs.String())
			began := time.Now().Add(-time.Millisecond)
			c.run(w, b)
			var names []string
			for _, e := range kept.take() {
				names = append(names, e.Name)
				auditJudge(t, e, c, w.Logs.String()[logged:], began)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("reported %q, want %q", got, c.want)
			}
		})
	}
	if t.Mode == modeNone {
		t.Run("reload", auditReload)
	}
}

// auditJudge checks that an event says when, who, from where, by which means, the
// outcome and the reason, and that the log has the same in one line.
func auditJudge(t *T, e authsvc.AuditEvent, c auditCase, logs string, began time.Time) {
	t.Helper()
	good := strings.HasSuffix(e.Name, "succeeded") || e.Name == "notice.sent" || strings.HasSuffix(e.Name, "ed") && !strings.Contains(e.Name, "refused") && !strings.Contains(e.Name, "failed") && !strings.Contains(e.Name, "limited") && !strings.Contains(e.Name, "not_linked")
	if want := map[bool]string{true: "success"}[good]; want != "" && string(e.Outcome) != want || !good && e.Outcome == authsvc.AuditSuccess {
		t.Errorf("%s: outcome %s", e.Name, e.Outcome)
	}
	if e.Time.Before(began) || e.Time.After(time.Now()) || e.Time.Location() != time.UTC {
		t.Errorf("%s: time %v", e.Name, e.Time)
	}
	if !c.apart && (e.ClientIP != "203.0.113.7" || e.RequestID == "") {
		t.Errorf("%s: client %q, request %q", e.Name, e.ClientIP, e.RequestID)
	}
	if !good && e.Reason == "" {
		t.Errorf("%s: no reason", e.Name)
	}
	if strings.HasPrefix(e.Name, "sign_in.") && (e.Provider == "" || !strings.Contains("op email credentials", e.Provider)) {
		t.Errorf("%s: provider %q", e.Name, e.Provider)
	}
	if good && strings.Contains("sign_in.succeeded account.linked account.unlinked sign_out.succeeded sessions.ended user.deleted", e.Name) && e.UserID == "" {
		t.Errorf("%s: no user", e.Name)
	}
	line := regexp.MustCompile(`(?m)^time=\S+ level=INFO msg=audit event=` + regexp.QuoteMeta(e.Name) + ` outcome=` + string(e.Outcome) + ` utc=\S+Z.*$`).FindString(logs)
	for _, field := range []string{e.UserID, e.ClientIP, e.Provider, e.RequestID} {
		if line == "" || !strings.Contains(line, field) {
			t.Errorf("%s: the log has %q, without %q", e.Name, line, field)
		}
	}
}

// auditReload makes the running service load another configuration.
func auditReload(t *T) {
	n := process.NewNeighbours(t)
	p := process.Serve(t, n.YAML(""), "AUTHSVC_STORAGE_URL=memory:")
	for _, c := range [][2]string{{n.YAML("session: {max_age: 24h}\n"), "event=configuration.changed "}, {n.YAML("session: {max_age: nonsense}\n"), "event=configuration.change_failed "}} {
		p.Configure(c[0])
		p.Signal(syscall.SIGHUP)
		end := time.Now().Add(patience)
		for !strings.Contains(p.Logs.String(), c[1]) && time.Now().Before(end) {
			time.Sleep(5 * time.Millisecond)
		}
		if n := strings.Count(p.Logs.String(), c[1]); n != 1 {
			t.Errorf("%s is reported %d times", c[1], n)
		}
	}
	if a, err := browser.New(p.URL, nil).Get("/readyz"); err != nil || a.StatusCode != 200 {
		t.Errorf("twin: the service: %v %v", a, err)
	}
}
