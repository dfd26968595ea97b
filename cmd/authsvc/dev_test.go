package main

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/devidp"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/freeport"
)

// devConfig is a deployed configuration: its URL is the site's, and its variables are
// not set here.
const devConfig = `
url: https://app.example.com/login
secret: ${AUTHSVC_SECRET}
storage: {url: "${DATABASE_URL}"}
mail: {templates: texts}
providers:
  - {id: github, client_id: "${GITHUB_ID}", client_secret: "${GITHUB_SECRET}"}
  - {id: email, type: email, server: "${SMTP_URL}", from: "Acme <no-reply@example.com>"}
`

// TestDevWithConfiguration: a deployment's configuration runs here without its variables,
// together with dev's provider and inbox, before and after a reload. Commands read what
// dev keeps.
func TestDevWithConfiguration(t *testing.T) {
	t.Parallel()
	port, err := freeport.Pick(2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	origin := fmt.Sprintf("http://localhost:%d", port)
	l := newProcess(t, dir, addr, devConfig)
	l.cmd.Args = []string{"authsvc", "dev", "--config", configFile(addr), "--dir", "dev"}
	if err := os.Mkdir(filepath.Join(dir, "texts"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "texts", "subject.txt"), []byte("A subject of our own"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	eventually(t, "what is served is said", func() bool {
		said := l.out.String()
		return strings.Contains(said, "anyone can sign in as anyone") && strings.Contains(said, "sign-in with github, email, dev")
	})
	b := browser.New(origin, nil).Follow()
	get := func(path string) *browser.Answer {
		t.Helper()
		a, err := b.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	signInAsAda(t, b)
	if who := get("/login/session").Text; !strings.Contains(who, "ada@example.com") {
		t.Errorf("signed in as %s", who)
	}
	if err := l.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "reloaded", func() bool { return strings.Contains(l.out.String(), "configuration reloaded") })
	if providers := get("/login/providers").Text; !strings.Contains(providers, `"dev":`) || !strings.Contains(providers, `"github":`) {
		t.Errorf("after a reload: %s", providers)
	}
	if nope := get("/nope"); nope.StatusCode != http.StatusNotFound || !strings.Contains(nope.Text, "sign in at "+origin+"/login/signin") {
		t.Errorf("outside the routes: %d %s", nope.StatusCode, nope.Text)
	}
	b = b.Fresh()
	asked := signIn(t, b, url.Values{"email": {"new@example.com"}}, "email")
	inbox := regexp.MustCompile(`href="(http://127\.0\.0\.1:\d+/inbox)"`).FindStringSubmatch(asked.Text)
	if inbox == nil {
		t.Fatalf("no way to the inbox: %s", asked.Text)
	}
	mail := get(inbox[1]).Text
	if !strings.Contains(mail, "A subject of our own") {
		t.Errorf("the mail does not use mail.templates: %s", mail)
	}
	link := regexp.MustCompile(`<a class="button primary" href="([^"]+)">Open the link`).FindStringSubmatch(mail)
	if link == nil {
		t.Fatal("no mail in the inbox")
	}
	get(html.UnescapeString(link[1]))
	if who := get("/login/session").Text; !strings.Contains(who, "new@example.com") {
		t.Errorf("by mail as %s", who)
	}
	for args, want := range map[string]string{
		"users list":                    "ada@example.com",
		"accounts list ada@example.com": "github",
		"migrate status":                "schema version",
	} {
		if code, out := l.call(append(strings.Fields(args), "--dev", "dev")...); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s --dev: %d\n%s", args, code, out)
		}
	}
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if <-l.done; l.err != nil {
		t.Errorf("it ended with %v", l.err)
	}
	// A configuration that does not fit the store: dev says how to start again.
	l.writeConfig(strings.Replace(devConfig, "providers:", "compat: next-auth-v4\nproviders:", 1))
	if code, out := l.call("dev", "--dir", "dev"); code != exitUsage || !strings.Contains(out, "note: `authsvc dev -c "+configFile(addr)+"` keeps its records in dev/configured.db: remove this file to start without them") {
		t.Errorf("in another mode: %d\n%s", code, out)
	}
	for name, want := range map[string]bool{"authsvc.db": false, "dev/configured.db": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", name, err == nil, want)
		}
	}
}

// signIn posts the form of a sign-in to the service of devConfig.
func signIn(t *testing.T, b *browser.Browser, form url.Values, id string) *browser.Answer {
	t.Helper()
	csrf, err := b.Get("/login/csrf")
	if err != nil {
		t.Fatal(err)
	}
	form.Set("csrfToken", regexp.MustCompile(`"csrfToken":"([^"]+)"`).FindStringSubmatch(csrf.Text)[1])
	a, err := b.Form("/login/signin/"+id, form)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// signInAsAda signs in to the service of devConfig with github, for which dev's identity
// provider stands in.
func signInAsAda(t *testing.T, b *browser.Browser) {
	t.Helper()
	people := signIn(t, b, url.Values{}, "github")
	if !strings.Contains(people.Text, "Ada Lovelace") {
		t.Fatalf("no people at %s: %s", people.Request.URL, people.Text)
	}
	action := regexp.MustCompile(`<form[^>]* action="([^"]+)"`).FindStringSubmatch(people.Text)
	to, err := people.Request.URL.Parse(html.UnescapeString(action[1]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Form(to.String(), url.Values{"person": {"ada"}}); err != nil {
		t.Fatal(err)
	}
}

// TestDevElsewhere: dev starts at other addresses in the same folder, also after it was
// killed. A person is still the same user. A second dev in the folder is refused, while
// commands use its records.
func TestDevElsewhere(t *testing.T) {
	t.Parallel()
	dir, before := t.TempDir(), ""
	for _, front := range []bool{false, false, true} {
		port, err := freeport.Pick(3)
		if err != nil {
			t.Fatal(err)
		}
		l := newProcess(t, dir, fmt.Sprintf("127.0.0.1:%d", port), strings.Replace(devConfig, "mail: {templates: texts}\n", "", 1))
		at := fmt.Sprintf("http://localhost:%d", port)
		l.cmd.Args = []string{"authsvc", "dev", "--config", configFile(l.addr), "--dir", "dev"}
		if front { // the identity provider leaves this port to the front end
			at = fmt.Sprintf("http://localhost:%d", port+1)
			l.cmd.Args = append(l.cmd.Args, "--url", at+"/login")
		}
		l.start()
		if !front {
			b := browser.New(at, nil).Follow()
			signInAsAda(t, b)
			session, err := b.Get("/login/session")
			if err != nil {
				t.Fatal(err)
			}
			id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(session.Text)
			if id == nil || before != "" && id[1] != before {
				t.Fatalf("signed in as %s, before %s", session.Text, before)
			}
			before = id[1]
		}
		for _, args := range []string{"dev --dir dev", "dev --dir dev --listen localhost:1"} {
			if code, out := l.call(strings.Fields(args)...); code != exitFailed || !strings.Contains(out, "authsvc: dev is in use by the authsvc dev at "+at) || strings.Contains(out, "Sign in at") {
				t.Errorf("%s, a second one: %d\n%s", args, code, out)
			}
		}
		users := func() {
			t.Helper()
			if code, out := l.call("users", "list", "--dev", "dev"); code != exitOK || strings.Count(out, "@example.com") != 1 {
				t.Errorf("users list --dev: %d\n%s", code, out)
			}
		}
		users()
		if err := l.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-l.done
		users()
		// A dev that could not start has left its addresses.
		if err := os.WriteFile(filepath.Join(dir, "dev", "configured.urls"), []byte(at+"/login\nhttp://127.0.0.1:1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		users()
	}
}

// TestDevStorage: dev uses the storage of a configuration only if told to.
func TestDevStorage(t *testing.T) {
	t.Parallel()
	const own, there, sessions = "sqlite:dir/configured.db", "postgres://db.example/app", "redis://cache.example/0"
	for name, test := range map[string]struct {
		real    bool
		storage config.Storage
		want    config.Storage
		refused bool
	}{
		"its own":             {false, config.Storage{URL: there, Sessions: sessions}, config.Storage{URL: own}, false},
		"that of the file":    {true, config.Storage{URL: there, Sessions: sessions}, config.Storage{URL: there, Sessions: sessions}, false},
		"none":                {false, config.Storage{URL: "none"}, config.Storage{URL: "none"}, false},
		"memory":              {false, config.Storage{URL: "memory:"}, config.Storage{URL: "memory:"}, false},
		"columns of another":  {false, config.Storage{URL: there, Naming: config.Naming{UserColumns: []string{"role"}}}, config.Storage{}, true},
		"columns of that one": {true, config.Storage{URL: there, Naming: config.Naming{UserColumns: []string{"role"}}}, config.Storage{URL: there, Naming: config.Naming{UserColumns: []string{"role"}}}, false},
	} {
		s := &config.Settings{Storage: test.storage}
		err := (&devCommand{Dir: "dir", RealStorage: test.real}).ownStorage(s)
		if test.refused {
			if err == nil || !strings.Contains(err.Error(), "--real-storage") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if diff := cmp.Diff(test.want, s.Storage); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got): %s", name, err, diff)
		}
	}
}

// TestDevBanner: the banner shows the inbox if a provider sends mail.
func TestDevBanner(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		providers []authsvc.Provider
		mails     bool
	}{
		{"by mail", []authsvc.Provider{&authsvc.Email{From: "app@example.com"}}, true},
		{"without mail", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &config.Settings{Engine: authsvc.Config{URL: "http://localhost:3000", Secrets: []string{testSecret}, Providers: test.providers}}
			d, err := devidp.Start(&s.Engine, devidp.Options{Addr: "127.0.0.1:0", Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close() //nolint:errcheck // the test ends
			if got := (&program{ctx: t.Context()}).devBanner(s, d, ".authsvc"); strings.Contains(got, d.InboxURL()) != test.mails || !strings.Contains(got, d.Issuer()) {
				t.Errorf("%s", got)
			}
		})
	}
}

// TestDevSaysWhoMay: the banner names the people that the configuration refuses, and
// the fix if it refuses everyone. If it refuses no one, the banner says nothing.
func TestDevSaysWhoMay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ settings, want string }{
		"everyone": {"", ""},
		"a domain": {"sign_in: {allow: [{domains: [acme.example]}]}",
			"may sign in: Emmy Noether <emmy@acme.example>\nnot: Ada Lovelace <ada@example.com>, Grace Hopper <grace@example.com>, Alan Turing <alan@example.com>, Katherine Johnson (by the sign-in conditions)\n"},
		"a group of a provider": {"session: {claims: {groups: realm.roles}}\nsign_in: {allow: [{providers: [github], groups: [ops]}, {domains: [example.com]}]}",
			"may sign in: Ada Lovelace <ada@example.com>, Grace Hopper <grace@example.com>, Emmy Noether <emmy@example.com>\nnot: Alan Turing <alan@example.com>, Katherine Johnson (by the sign-in conditions)\n"},
		"a rule": {"rules: {sign_in: user.name.startsWith(\"Ada\")}",
			"may sign in: Ada Lovelace <ada@example.com>\nnot: Grace Hopper <grace@example.com>, Alan Turing <alan@example.com>, Katherine Johnson (by the rule of sign-in)\n"},
		"a rule and a hook, which is not asked": {"rules: {sign_in: account.provider == \"github\"}\nhooks: [{on: sign_in, url: http://127.0.0.1:1/, secret: whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3}]",
			"may sign in: none of them\nnot: Ada Lovelace <ada@example.com>, Grace Hopper <grace@example.com>, Alan Turing <alan@example.com>, Katherine Johnson (by the rule of sign-in)\n" +
				"add a person who may sign in on the provider's page, or change sign_in.allow, sign_up or rules\n"},
		"a network": {"sign_in: {allow: [{networks: [10.0.0.0/8]}]}",
			"may sign in: none of them\nnot: Ada Lovelace <ada@example.com>, Grace Hopper <grace@example.com>, Alan Turing <alan@example.com>, Katherine Johnson (by the sign-in conditions)\n" +
				"add a person who may sign in on the provider's page, or change sign_in.allow, sign_up or rules\n"},
		"invited": {"sign_up: {policy: invited}",
			"may sign in: none of them\nnot: Ada Lovelace <ada@example.com>, Grace Hopper <grace@example.com>, Alan Turing <alan@example.com>, Katherine Johnson (not invited)\n" +
				"invite a person, and the mail arrives in the inbox: authsvc users invite ada@example.com -c FILE --dev .authsvc\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "authsvc.yaml")
			yaml := "url: http://localhost:3000\nsecret: " + testSecret + "\nstorage: {url: \"sqlite:dev.db\"}\n" + test.settings +
				"\nproviders:\n  - {id: github, client_id: a, client_secret: b}\n  - {id: email, type: email, server: \"smtp://127.0.0.1:1\", from: a@example.com}\n"
			if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			var said string
			p := &program{ctx: t.Context(), configPath: file, stderr: t.Output()}
			p.adapt = append(p.adapt, func(s *config.Settings) error {
				d, err := devidp.Start(&s.Engine, devidp.Options{Addr: "127.0.0.1:0"})
				if err == nil {
					t.Cleanup(func() { d.Close() }) //nolint:errcheck // the test ends
					p.banner = func(s *config.Settings) (string, error) { return p.whoMay(s, d.People(), ".authsvc"), nil }
				}
				return err
			})
			s, err := p.load(nil)
			if err != nil {
				t.Fatal(err)
			}
			banner, err := p.banner(s)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(strings.ReplaceAll(banner, file, "FILE")) {
				said += strings.TrimLeft(line, " ")
			}
			if diff := cmp.Diff(test.want, said); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
