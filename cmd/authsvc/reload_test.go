package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/dev/idp"
)

// TestReload: a reload adds and removes providers and changes secrets, and sign-ins in
// progress at a provider can be completed.
func TestReload(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"database": "", "jwt": "session: {strategy: jwt}", "no store": "storage: {url: none}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, addr := startProvider(t), freeAddress(t)
			origin := "http://" + addr
			config := testConfig(origin, op, more)
			l := newProcess(t, t.TempDir(), addr, config)
			l.start()
			person, absent := newPerson(origin, op, nil), newPerson(origin, op, nil)
			if err := absent.signIn(); err != nil {
				t.Fatal(err)
			}
			at, err := person.startSignIn()
			if err != nil {
				t.Fatal(err)
			}
			providers := func() string { _, body := getStatus(t, origin+"/api/auth/providers"); return body }

			l.reload(strings.Replace(config, "providers:\n", "providers:\n  - {id: github, client_id: a, client_secret: b}\n", 1))
			if got := providers(); !strings.Contains(got, `"github"`) || !strings.Contains(got, `"op"`) {
				t.Errorf("with another provider: %s", got)
			}
			if err := person.finishSignIn(at); err != nil {
				t.Errorf("a sign-in across a reload: %v", err)
			}
			l.reload(strings.Replace(config, testSecret, "[NewNewNewNew-9sK2mV7xQ4tB8wE1yU5iO3pA6dF0gH, "+testSecret+"]", 1))
			if got := providers(); strings.Contains(got, "github") {
				t.Errorf("without that provider: %s", got)
			}
			if err := person.signedIn(); err != nil {
				t.Errorf("under the second secret: %v", err)
			}
			if err := newPerson(origin, op, nil).signIn(); err != nil {
				t.Errorf("under the first secret: %v", err)
			}
			l.reload(strings.Replace(config, testSecret, "NewNewNewNew-9sK2mV7xQ4tB8wE1yU5iO3pA6dF0gH", 1))
			if name == "jwt" || name == "no store" {
				if err := absent.signedIn(); err == nil {
					t.Error("a session sealed under a removed secret is still valid")
				}
			}
			if err := person.signedIn(); err != nil {
				t.Errorf("resealed while both secrets were configured: %v", err)
			}
			l.terminate()
		})
	}
}

// TestReloadRefused: mistakes are logged as at a start, and changes that require a
// restart are named. No secret is shown, and the previous configuration stays in force.
func TestReloadRefused(t *testing.T) {
	t.Parallel()
	op, addr := startProvider(t), freeAddress(t)
	origin := "http://" + addr
	good := testConfig(origin, op, "storage: {url: 'sqlite:a.db'}")
	l := newProcess(t, t.TempDir(), addr, good)
	l.start()
	for i, c := range []struct {
		config string
		want   []string
	}{
		{"urll: x\nsecret: short\nproviders: []", []string{`is not known`, "secret ", "providers is empty", "did you mean url?"}},
		{strings.Replace(good, "a.db", "b.db", 1) + "compat: next-auth-v4\n", []string{"storage.url was changed, which requires a restart", "compat was changed, which requires a restart"}},
		{good + "session: {store: 'redis://:hunter2@127.0.0.1:1/0'}\n", []string{"session.store was changed, which requires a restart"}},
		{strings.Replace(good, "'sqlite:a.db'", "'sqlite:a.db', naming: snake", 1), []string{"storage.naming was changed, which requires a restart"}},
		{strings.Replace(good, "sqlite:a.db", "postgres://ada:hunter2@127.0.0.1/x", 1), []string{"storage.url was changed"}},
		{good + "gate: {hosts: [{origin: 'http://localhost:1', upstream: 'http://127.0.0.1:1', default: nobody}]}\n", []string{"gate.hosts gained its first upstream or lost its last one, which requires a restart"}},
		{"url: [", []string{"not reloaded: "}},
	} {
		l.writeConfig(c.config)
		l.signal(syscall.SIGHUP)
		l.waitForLog("event=configuration.change_failed", i+1)
		for _, want := range c.want {
			if !strings.Contains(strings.ReplaceAll(l.out.String(), `\"`, `"`), want) {
				t.Errorf("%s: not logged: %s", c.config, want)
			}
		}
		if code, _ := getStatus(t, origin+"/api/auth/signin"); code != http.StatusOK {
			t.Errorf("after a reload that was refused: %d", code)
		}
	}
	// writeConfig adds the address to the file.
	file := filepath.Join(l.dir, configFile(addr))
	if err := os.WriteFile(file, []byte(good+"listen: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.signal(syscall.SIGHUP)
	l.waitForLog("listen was changed, which requires a restart", 1)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	l.signal(syscall.SIGHUP)
	l.waitForLog("cannot be read", 1)
	l.reload(good)
	if said := l.out.String(); strings.Contains(said, "hunter2") || strings.Contains(said, testSecret) {
		t.Errorf("a secret was logged:\n%s", said)
	}
	if err := newPerson(origin, op, nil).signIn(); err != nil {
		t.Error(err)
	}
	l.terminate()
}

// TestReloadRateLimit: a reload keeps the counts of rate limits, and applies new rates.
func TestReloadRateLimit(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"memory:", "none"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			op, addr := startProvider(t), freeAddress(t)
			origin := "http://" + addr
			config := func(rate string) string {
				return strings.Replace(testConfig(origin, op, "storage: {url: '"+storage+"'}"), "enabled: false", "sign_in: "+rate, 1)
			}
			l := newProcess(t, t.TempDir(), addr, config("2/h"))
			l.start()
			begun := func() bool {
				_, err := newPerson(origin, op, nil).startSignIn()
				return err == nil
			}
			if first, second, third := begun(), begun(), begun(); !first || !second || third {
				t.Error("the limit of 2/h is not enforced")
			}
			l.reload(config("2/h"))
			if begun() {
				t.Error("a reload forgets what was counted")
			}
			if storage == "none" { // a store keeps the counts of the old rate
				l.reload(config("2/s"))
				eventually(t, "under 2/s", begun)
			}
			l.terminate()
		})
	}
}

// TestReloadUnderLoad: with 100 signals a second, no sign-in fails and no connection is
// leaked. Signals during a reload count as one.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	signals := 100
	if os.Getenv("AUTHSVC_E2E") == "1" {
		signals = 1000
	}
	op, addr := startProvider(t), freeAddress(t)
	op.SetFault(idp.Fault{Delay: map[idp.Endpoint]time.Duration{idp.EndpointToken: 50 * time.Millisecond}})
	origin := "http://" + addr
	config := testConfig(origin, op)
	l := newProcess(t, t.TempDir(), addr, config)
	l.start()
	people := startLoad(t, 8, func() error { return newPerson(origin, op, nil).signIn() })
	eventually(t, "signing in", func() bool { return people.count() > 10 })
	before := openFiles(t, l)
	reloads := func() int { return strings.Count(l.out.String(), "configuration.changed") }
	end := time.Now().Add(patience)
	for i := 0; i < signals || reloads() < 3 && time.Now().Before(end); i++ {
		if i%2 == 0 {
			l.writeConfig(strings.Replace(config, "name: Op", "name: Operator", 1))
		} else {
			l.writeConfig(config)
		}
		l.signal(syscall.SIGHUP)
		time.Sleep(10 * time.Millisecond)
	}
	people.stopWithoutErrors(t)
	eventually(t, "all closed", func() bool { return openFiles(t, l) <= before+10 })
	t.Logf("%d reloads for %d signals, memory %s", reloads(), signals, residentMemory(t, l))
	if reloads() < 3 || strings.Contains(l.out.String(), "level=ERROR") {
		t.Error("too few reloads, or errors")
	}
	l.terminate()
}
