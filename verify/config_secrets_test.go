package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// config02 prints a configuration in every possible way, with the binary's commands
// and in a program.
func config02(t *T) {
	text := configGood + "  - {id: email, type: email, server: 'smtp://user:" + configSecret + "@mail.example.com', from: 'a@app.test'}\n"
	p := configFile(t, text)
	for _, args := range [][]string{{"check", "--offline"}, {"serve", "--print-config"}, {"serve", "--listen", "nowhere"}, {"migrate", "status"}, {"providers", "--json"}, {"healthcheck"}, {"version"}, {"--help"}, {"serve", "--help"}} {
		out, _ := p.Command(args...)
		if strings.Contains(out, configSecret) || strings.Contains(out, arena.Secret) || out == "" {
			t.Errorf("%v: %q", args, out)
		}
	}
	p.Configure(text)
	p.Start()
	p.Ready(patience)
	p.Signal(syscall.SIGQUIT) // the stacks of all goroutines
	p.Wait(patience)
	if said := p.Logs.String(); strings.Contains(said, configSecret) || strings.Contains(said, arena.Secret) || !strings.Contains(said, "goroutine") {
		t.Errorf("SIGQUIT: %.3000s", said)
	}
	w := t.Enter(func(c *authsvc.Config) { c.Providers[0].(*authsvc.OAuth).Client.Secret = configSecret })
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	var all []string
	for _, v := range []any{w.Config, &w.Config, w.Service, w.Config.Providers[0], w.Config.Providers[0].(*authsvc.OAuth).Client, struct{ C authsvc.Config }{w.Config}, []any{w.Config}, map[string]any{"c": &w.Config}} {
		all = append(all, fmt.Sprint(v), fmt.Sprintf("%v|%+v|%s|%q|%#v|%x|%d", v, v, v, v, v, v, v))
		logger.Info("configured", "v", v)
		if _, isService := v.(*engine.Service); !isService {
			raw, err := json.Marshal(v)
			all = append(all, string(raw), fmt.Sprint(err))
		}
		func() {
			defer func() { all = append(all, fmt.Sprint(recover())) }()
			panic(fmt.Sprintf("%+v", v))
		}()
	}
	all = append(all, log.String())
	for _, s := range all {
		for _, secret := range []string{configSecret, arena.Secret, fmt.Sprintf("%x", configSecret), fmt.Sprintf("%x", arena.Secret)} {
			if strings.Contains(s, secret) {
				t.Errorf("%.300s", s)
			}
		}
	}
	if !strings.Contains(fmt.Sprintf("%+v", w.Config), arena.Origin) {
		t.Error("twin: a configuration is not even named")
	}
}

func config03(t *T) {
	secretFile := func(t *T, dir string, mode os.FileMode) string {
		name := filepath.Join(dir, "secret")
		if err := os.WriteFile(name, []byte(arena.Secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	withFile := func(t *T, name string) (string, int) {
		t.Helper()
		p := process.Prepare(t, "", "AUTHSVC_STORAGE_URL=memory:", "AUTHSVC_SECRET_FILE="+name)
		if err := os.WriteFile(filepath.Join(p.Dir, "authsvc.yaml"), []byte(strings.Replace(configGood, "secret: "+arena.Secret, "", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return p.Command("check", "--offline")
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(secretFile(t, dir, 0o644), link); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"0644": secretFile(t, t.TempDir(), 0o644), "0640": secretFile(t, t.TempDir(), 0o640), "symlink to 0644": link} {
		if out, code := withFile(t, file); code != 0 || !strings.Contains(out, "chmod 600") || strings.Contains(out, arena.Secret) {
			t.Errorf("%s: %d %s", name, code, out)
		}
	}
	for name, file := range map[string]string{"directory": t.TempDir(), "missing": filepath.Join(dir, "nothing"), "device without end": "/dev/zero"} {
		if out, code := withFile(t, file); code == 0 || !strings.Contains(out, "AUTHSVC_SECRET_FILE") {
			t.Errorf("%s: %d %s", name, code, out)
		}
	}
	if out, code := withFile(t, secretFile(t, t.TempDir(), 0o600)); code != 0 || strings.Contains(out, "chmod") {
		t.Errorf("twin 0600: %d %s", code, out)
	}
	// The configuration itself holds secrets if no variable does.
	p := configFile(t, configGood)
	file := filepath.Join(p.Dir, "authsvc.yaml")
	for mode, warned := range map[os.FileMode]bool{0o644: true, 0o604: true, 0o600: false, 0o400: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if out, code := p.Command("check", "--offline"); code != 0 || strings.Contains(out, "chmod 600") != warned {
			t.Errorf("%o: %d %s", mode, code, out)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, code := p.Command("check", "--offline"); code == 0 || !strings.Contains(out, "directory") {
		t.Errorf("a directory: %d %s", code, out)
	}
}

// overPlain sends requests for an https origin to a process, as a proxy that
// terminates TLS does.
type overPlain struct{ addr string }

// RoundTrip implements [http.RoundTripper].
func (o overPlain) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = r.URL.Host
	r.URL.Scheme, r.URL.Host = "http", o.addr
	return http.DefaultTransport.RoundTrip(r)
}

// config04 runs the binary with full logging and all flows.
func config04(t *T) {
	n := process.NewNeighbours(t, arena.Origin+"/api/auth/callback/op")
	yaml := strings.Replace(n.YAML("log: {level: debug}\ncompat: "+t.Mode), `"{origin}"`, arena.Origin, 1)
	p := process.Serve(t, yaml, "AUTHSVC_STORAGE_URL=memory:")
	canaries := map[string]string{"secret": arena.Secret, "client secret": arena.ClientSecret}
	n.OP.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) {
		canaries["access token"], canaries["ID token"] = a["access_token"].(string), a["id_token"].(string)
	}})
	v := browser.New(arena.Origin, overPlain{p.Addr})
	must := func(a *browser.Answer, err error) *browser.Answer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	start := must(v.Post("/api/auth/signin/op"))
	canaries["state"] = arena.MustURL(t, start.Location()).Query().Get("state")
	back, err := n.OP.Approve(start.Location(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	canaries["code"] = arena.MustURL(t, back.URL()).Query().Get("code")
	must(v.Get(back.URL()))
	if email, err := v.Email(); email != "ada@example.com" {
		t.Fatalf("twin: %q, %v", email, err)
	}
	must(v.Get(back.URL())) // a second time, which is refused
	for _, c := range v.Client.Jar.Cookies(arena.MustURL(t, arena.Origin)) {
		if len(c.Value) > 20 && !strings.Contains(c.Name, "callback") {
			canaries["cookie "+c.Name] = c.Value
		}
	}
	must(v.Get("/api/auth/callback/op?code=" + canaries["code"] + "&state=wrong"))
	mail := browser.New(arena.Origin, overPlain{p.Addr})
	link, err := mail.AskForLink(t.Context(), n.Box, "mail@app.test")
	if err != nil {
		t.Fatal(err)
	}
	canaries["link token"] = arena.MustURL(t, link).Query().Get("token")
	must(browser.New(arena.Origin, overPlain{p.Addr}).Get(link))
	if err := mail.Open(link); err != nil {
		t.Fatal(err)
	}
	must(mail.Get(link)) // the link is spent
	if err := v.SignOut(); err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGTERM)
	p.Wait(patience)
	said := p.Logs.String()
	for name, canary := range canaries {
		if canary == "" || strings.Contains(said, canary) {
			t.Errorf("the log holds the %s", name)
		}
	}
	if !strings.Contains(said, "audit") {
		t.Error("twin: nothing is logged")
	}
}

// config07 searches the bytes of the store for tokens.
func config07(t *T) {
	file := filepath.Join(t.TempDir(), "auth.db")
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := t.Enter(func(c *authsvc.Config) { c.Adapter = store })
	tokens := map[string]string{}
	w.OP.SetFault(idp.Fault{TokenAnswer: func(a map[string]any) {
		a["refresh_token"] = "refresh-7d1fa83c55e0"
		for _, name := range []string{"access_token", "id_token", "refresh_token"} {
			tokens[name] = a[name].(string)
		}
	}})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	u, err := store.GetUserByAccount(t.Context(), "op", "ada")
	if err != nil {
		t.Fatal(err)
	}
	dump := dumped(t, file)
	for name, token := range tokens {
		if strings.Contains(dump, token) {
			t.Errorf("the %s is in the file", name)
		}
	}
	for name, cookie := range b.Cookies {
		if len(cookie) > 20 && strings.Contains(dump, cookie) {
			t.Errorf("the value of %s is in the file", name)
		}
	}
	accounts, err := w.Accounts(t.Context(), u.ID)
	if err != nil || len(accounts) != 1 || accounts[0].RefreshToken != tokens["refresh_token"] || accounts[0].AccessToken != tokens["access_token"] {
		t.Errorf("twin: the application reads %v, %v", accounts, err)
	}
	if !strings.Contains(dump, "ada@example.com") {
		t.Error("twin: the file is not what was read")
	}
}

// dumped returns all bytes that SQLite has written.
func dumped(t *T, file string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{file, file + "-wal"} {
		raw, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}
