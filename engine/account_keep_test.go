package engine_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// TestKeepOnAccountPage checks the banner that a session shows if another program
// scheduled the deletion: it names the day, and one press keeps the account.
func TestKeepOnAccountPage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, deletable)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	user := readAccount(t, b).User.ID
	const banner, another = "Your account will be deleted on 24 December 2099.", "/api/auth/account/delete"
	if page := b.Get("/api/auth/account").Text; strings.Contains(page, "will be deleted on") || !strings.Contains(page, another) {
		t.Errorf("twin: nothing is scheduled: %s", page)
	}
	day := time.Date(2099, 12, 24, 18, 0, 0, 0, time.UTC)
	if err := w.Store.SetPerson(t.Context(), user, adapter.PersonUpdate{DeleteAfter: &day}, nil); err != nil {
		t.Fatal(err)
	}
	if page := b.Get("/api/auth/account").Text; !strings.Contains(page, banner) || !strings.Contains(page, "Keep my account") || strings.Contains(page, another) {
		t.Errorf("the banner: %s", page)
	}
	a := b.Post("/api/auth/account/keep")
	page := b.Get(a.Location())
	if !strings.HasSuffix(a.Location(), "/account?done=kept") || page.StatusCode != http.StatusOK || !strings.Contains(page.Text, "Your account will not be deleted.") || strings.Contains(page.Text, banner) || !deletionOf(t, w, user).IsZero() {
		t.Errorf("kept: %s, %d %s", a.Location(), page.StatusCode, page.Text)
	}
}

// keepLinkOf returns the link in the notice of a deletion, or "".
func keepLinkOf(m authsvc.Message) string {
	for line := range strings.Lines(m.Text) {
		if strings.Contains(line, "/account/keep?token=") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// pressKeep presses the button of the page that a mailed link opens.
func pressKeep(b *arena.Browser, link string, more ...string) *browser.Answer {
	_, token, _ := strings.Cut(link, "token=")
	return b.Post("/api/auth/account/keep", append([]string{"token", token}, more...)...)
}

// TestKeepByLink checks that the link in the notice of a deletion keeps the account by
// one press, without a sign-in and without beginning a session; that opening it changes
// nothing; and that it is valid only for the deletion that the notice reported.
func TestKeepByLink(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, deletable)
	b := w.Browser()
	b.SignInByMail(w, "ada@app.test")
	user := w.Person(t, b)
	schedule := func() string {
		t.Helper()
		if _, err := w.ScheduleDeletion(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		m := w.Mail.Notice(t)
		link := keepLinkOf(m)
		if link == "" || !strings.Contains(m.HTML, "/account/keep?token=") || !strings.Contains(m.HTML, "Keep my account") {
			t.Fatalf("no link in %s\n%s", m.Text, m.HTML)
		}
		return link
	}
	link, reader := schedule(), w.Browser()
	day := deletionOf(t, w, user).UTC().Format("2 January 2006")
	if a := reader.Get(link); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "Keep my account") || !strings.Contains(a.Text, day) || deletionOf(t, w, user).IsZero() {
		t.Fatalf("the page: %d %s", a.StatusCode, a.Text)
	}
	for name, a := range map[string]*browser.Answer{
		"altered": pressKeep(reader, link[:len(link)-8]+"AAAAAAAA", "json", "true"),
		"long":    pressKeep(reader, link+strings.Repeat("A", 5000), "json", "true"),
		"empty":   pressKeep(reader, "", "json", "true"),
		"leave":   pressKeep(reader, link, "json", "true", "leave", "true"),
		"csrf":    pressKeep(reader, link, "json", "true", "csrfToken", "wrong"),
	} {
		if a.StatusCode == http.StatusOK || deletionOf(t, w, user).IsZero() {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
		}
	}
	if a := reader.Get(link[:len(link)-8] + "AAAAAAAA"); a.StatusCode != http.StatusNotFound || !strings.Contains(a.Text, "This link no longer works") {
		t.Errorf("altered, opened: %d %s", a.StatusCode, a.Text)
	}
	if a := pressKeep(reader, link); a.Location() != arena.Origin+"/api/auth/account/keep?done=kept" || !deletionOf(t, w, user).IsZero() || w.Person(t, reader) != "" {
		t.Fatalf("kept: %d %s", a.StatusCode, a.Location())
	}
	if m := w.Mail.Notice(t); !strings.Contains(m.Subject, "will not be deleted") {
		t.Errorf("the notice: %s", m.Subject)
	}
	again := schedule()
	if a := pressKeep(reader, link, "json", "true"); !answers(a, http.StatusNotFound, "NotFound") || deletionOf(t, w, user).IsZero() {
		t.Errorf("the link of an earlier deletion: %d %s", a.StatusCode, a.Text)
	}
	if err := w.Block(t.Context(), user, "spam"); err != nil {
		t.Fatal(err)
	}
	if a := pressKeep(reader, again, "json", "true"); !answers(a, http.StatusNotFound, "NotFound") || deletionOf(t, w, user).IsZero() {
		t.Errorf("a blocked user: %d %s", a.StatusCode, a.Text)
	}
	if err := w.Unblock(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	if a := pressKeep(reader, again, "json", "true"); a.StatusCode != http.StatusOK || !deletionOf(t, w, user).IsZero() {
		t.Errorf("twin: unblocked: %d %s", a.StatusCode, a.Text)
	}
}

// An afterGetUser store calls act once, after it has read a user.
type afterGetUser struct {
	adapter.Adapter
	act atomic.Pointer[func()]
}

func (s *afterGetUser) GetUser(ctx context.Context, id string) (authsvc.User, error) {
	u, err := s.Adapter.GetUser(ctx, id)
	if act := s.act.Swap(nil); act != nil {
		(*act)()
	}
	return u, err
}

// TestKeepLinkRaces checks that a mailed link does not cancel another deletion, or the
// deletion of a blocked user, if that changes after the link was checked.
func TestKeepLinkRaces(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(100 * 24 * time.Hour).UTC().Truncate(time.Millisecond)
	for name, tt := range map[string]struct {
		change func(w *arena.World, user string) error
		kept   bool
	}{
		"another deletion": {func(w *arena.World, user string) error {
			return w.Store.SetPerson(t.Context(), user, adapter.PersonUpdate{DeleteAfter: &later}, nil)
		}, false},
		"blocked":          {func(w *arena.World, user string) error { return w.Block(t.Context(), user, "spam") }, false},
		"unchanged (twin)": {func(*arena.World, string) error { return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &afterGetUser{Adapter: memory.New()}
			w := arena.Start(t, func(c *authsvc.Config) { deletable(c); c.Adapter = store })
			b, reader := w.Browser(), w.Browser()
			b.SignInByMail(w, "ada@app.test")
			user := w.Person(t, b)
			if _, err := w.ScheduleDeletion(t.Context(), user); err != nil {
				t.Fatal(err)
			}
			link := keepLinkOf(w.Mail.Notice(t))
			reader.CSRF()
			var err error
			act := func() { err = tt.change(w, user) }
			store.act.Store(&act)
			a := pressKeep(reader, link, "json", "true")
			if err != nil || store.act.Load() != nil {
				t.Fatalf("not changed: %v", err)
			}
			if kept := deletionOf(t, w, user).IsZero(); kept != tt.kept || (a.StatusCode == http.StatusOK) != tt.kept || !tt.kept && !answers(a, http.StatusNotFound, "NotFound") {
				t.Errorf("kept: %v, %d %s", kept, a.StatusCode, a.Text)
			}
		})
	}
}

// TestNoKeepLinkToUnproved checks that the notice to an address that was never proved
// has no link: anyone may have that address.
func TestNoKeepLinkToUnproved(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, deletable)
	u, err := w.Store.SignUp(t.Context(), authsvc.User{ID: "bob-id", Email: "bob@app.test"}, nil, nil, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ScheduleDeletion(t.Context(), u.ID); err != nil {
		t.Fatal(err)
	}
	if m := w.Mail.Notice(t); keepLinkOf(m) != "" || !strings.Contains(m.Text, "sign in before then") {
		t.Errorf("%s", m.Text)
	}
}
