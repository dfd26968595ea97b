package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
	"authsvc/internal/text"
)

// A desk runs an operator's commands beside a service. It keeps their output.
type desk struct {
	*process
	transcript strings.Builder
}

// volatile matches output that differs from run to run: IDs, times and a port.
var volatile = []struct {
	what *text.Regexp
	word string
}{
	{text.LazyRegexp(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b[0-9a-f]{24}\b`), "ID"},
	{text.LazyRegexp(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-01-02T03:04:05Z"},
	{text.LazyRegexp(`(^|[\s"])[A-Za-z0-9_-]{22}([\s"])`), "${1}SESSION${2}"},
	{text.LazyRegexp(`127\.0\.0\.1:\d+`), "127.0.0.1:1"},
	{text.LazyRegexp(` {2,}`), "  "}, // a column is as wide as its widest value
}

// run runs a command, which must succeed, and returns its output.
func (o *desk) run(args ...string) string {
	o.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Args = append([]string{"authsvc", "--config", configFile(o.addr)}, args...)
	cmd.Dir, cmd.Env = o.dir, o.cmd.Env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatalf("%s: %v\n%s", args, err, said.Bytes())
	}
	text := "$ authsvc " + strings.Join(args, " ") + "\n" + string(out)
	for _, v := range volatile {
		text = v.what.ReplaceAllString(text, v.word)
	}
	o.transcript.WriteString(text)
	return string(out)
}

// TestCommandsOfUsers: with every store, the commands about users have the same output,
// and a running service obeys them.
func TestCommandsOfUsers(t *testing.T) {
	t.Parallel()
	const golden = "testdata/users.golden"
	want, err := os.ReadFile(golden)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, kind := range stores.Combined() {
		if kind.Name == "memory" { // each process has its own
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			dir, addr, op := t.TempDir(), freeAddress(t), startProvider(t)
			config := testConfig("http://"+addr, op, "account: {delete: true}")
			l := newProcess(t, dir, addr, config, kind.Env(t, dir)...)
			l.start()
			o := &desk{process: l}
			operated(t, o, op)
			stopped(t, o, op, config, kind.Name == "sqlite")
			got := o.transcript.String()
			if *update && kind.Name == "sqlite" {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if !*update && got != string(want) {
				t.Errorf("it said\n%s\nwant %s:\n%s", got, golden, want)
			}
		})
	}
}

// operated looks at two people, ends a session, blocks and deletes.
func operated(t *testing.T, o *desk, op *idp.Server) {
	t.Helper()
	signedIn := func(sub string) *browser.Browser {
		b := browser.New("http://"+o.addr, nil)
		if err := b.SignIn(op, sub); err != nil {
			t.Fatal(err)
		}
		return b
	}
	is := func(b *browser.Browser, want string) {
		t.Helper()
		eventually(t, "signed in as "+want, func() bool {
			email, err := b.Email()
			return err == nil && email == want
		})
	}
	ada, first, second := signedIn("ada"), signedIn("grace"), signedIn("grace")
	for _, args := range []string{"users", "users list --json", "users list --json --prefix ada@", "users list --limit 1", "users show Ada@example.com", "users show ada@example.com --json",
		"sessions ada@example.com", "sessions list ada@example.com --json", "accounts ada@example.com", "accounts list ada@example.com --json"} {
		o.run(strings.Fields(args)...)
	}

	// One of two sessions ends.
	ids := regexp.MustCompile(`(?m)^[A-Za-z0-9_-]{22}`).FindAllString(o.run("sessions", "grace@example.com"), -1)
	if len(ids) != 2 {
		t.Fatalf("sessions of grace: %v", ids)
	}
	o.run("sessions", "end", "grace@example.com", ids[0], "--yes")
	eventually(t, "ended", func() bool {
		one, err := first.Email()
		other, err2 := second.Email()
		return err == nil && err2 == nil && (one == "") != (other == "")
	})
	o.run("sessions", "grace@example.com")

	o.run("users", "block", "ada@example.com", "--why", "it is spam", "--yes")
	is(ada, "")
	o.run("users", "list", "--blocked", "--json")
	o.run("users", "show", "ada@example.com")
	o.run("users", "unblock", "ada@example.com")
	o.run("users", "list", "--blocked")
	if err := ada.SignIn(op, "ada"); err != nil {
		t.Errorf("twin: unblocked, but cannot sign in: %v", err)
	}

	o.run("users", "set", "ada@example.com", "--name", "Ada King", "--json")
	o.run("users", "export", "ada@example.com")
	o.run("users", "export", "--all")
	o.run("users", "end-sessions", "ada@example.com", "--dry-run", "--json")
	o.run("users", "create", "--email", "Cy@Example.com", "--name", "Cy", "--verified", "--json")
	o.run("users", "list", "--json", "--prefix", "c")
	o.run("users", "delete", "grace@example.com", "--yes")
	o.run("users", "list", "--json", "--prefix", "gr", "--blocked")
	is(first, "")
	is(second, "")
	o.run("users", "list", "--due")
	o.run("users", "keep", "grace@example.com", "--json")
	o.run("accounts", "unlink", "grace@example.com", "op", "grace", "--last", "--yes")
	o.run("accounts", "grace@example.com")
	o.run("users", "end-sessions", "ada@example.com", "--yes")
	is(ada, "")
	o.run("users", "delete", "grace@example.com", "--now", "--yes", "--json")
	o.run("users", "list", "--json")
}

// stopped ends sessions while no service runs. A service that starts later obeys, with
// stored sessions and with sessions of strategy jwt, which only alsoJWT checks.
func stopped(t *testing.T, o *desk, op *idp.Server, config string, alsoJWT bool) {
	t.Helper()
	strategies := []string{"database"}
	if alsoJWT {
		strategies = append(strategies, "jwt")
	}
	for _, strategy := range strategies {
		config := config + "session: {strategy: " + strategy + "}\n"
		if strategy == "jwt" {
			o.restart(config)
		}
		b, kept := browser.New("http://"+o.addr, nil), browser.New("http://"+o.addr, nil)
		if err := errors.Join(b.SignIn(op, "ada"), kept.SignIn(op, "alan")); err != nil {
			t.Fatal(err)
		}
		o.terminate()
		written := o.transcript.Len()
		if said := o.run("users", "show", "ada@example.com", "--json"); strings.Count(said, `"device"`) != 1 {
			t.Errorf("%s: one session, but users show said %s", strategy, said)
		}
		o.run("users", "end-sessions", "ada@example.com", "--yes")
		if strategy == "jwt" { // the other stores have no such part
			kept := o.transcript.String()[:written]
			o.transcript.Reset()
			o.transcript.WriteString(kept)
		}
		o.restart(config)
		email, err := b.Email()
		if other, err2 := kept.Email(); err != nil || err2 != nil || email != "" || other == "" {
			t.Errorf("%s: after the start: %q, %v; the twin %q, %v", strategy, email, err, other, err2)
		}
	}
}

// restart stops a service that runs, and starts it again.
func (o *desk) restart(config string) {
	o.t.Helper()
	select {
	case <-o.done:
	default:
		o.terminate()
	}
	env := o.cmd.Env
	o.process = newProcess(o.t, o.dir, o.addr, config)
	o.cmd.Env = env
	o.start()
}
