package main

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestCommandLine: a parser of the named commands gives the same result as a parser of
// all commands.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"serve", "serve -c FILE", "-c FILE serve", "--config=FILE serve --listen 127.0.0.1:1", "-c serve check", "-cusers users list --json",
		"users set-role x", "user list", "serve extra", "check --what", "-c check serv", "rules test FILE", "tokens create --user a --name b", "",
		"users --dev .authsvc list", "dev --dir x -c FILE",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(line)
			var all commands
			want, wantErr := newParser(&all, io.Discard, io.Discard).Parse(args)
			got, file, devDir, err := parse(args, io.Discard, io.Discard)
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("error %v, not %v", err, wantErr)
			}
			if err != nil {
				return
			}
			if file != all.Config || devDir != all.DevFolder || got.Command() != want.Command() {
				t.Errorf("%q with %q, not %q with %q", got.Command(), file, want.Command(), all.Config)
			}
			a, b := got.Selected().Target.Interface(), want.Selected().Target.Interface()
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%+v, not %+v", a, b)
			}
		})
	}
}

// TestCommandsNamed: help includes all commands, other command lines only the named
// ones.
func TestCommandsNamed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{"serve": 4, "-c dev users list": 5, "serve --help": 0, "-h": 0, "nothing": 0} {
		part, n := commandsNamed(strings.Fields(line)), 0
		if part != nil {
			n = reflect.TypeOf(part).Elem().NumField()
		}
		if n != want {
			t.Errorf("%q: %d fields, not %d", line, n, want)
		}
	}
}

// TestIDsAreNoFlags: the ID of a key may begin with a dash, at any position.
func TestIDsAreNoFlags(t *testing.T) {
	t.Parallel()
	const id = "-Mble4fP16fDh0QiO_iSSKJ-wA9NRSUNHjGdjLe5oUM"
	for _, line := range []string{"keys retire " + id + " --dry-run", "keys retire --dry-run " + id, "-c x.yaml keys retire " + id + " --dry-run", "keys retire --dry-run -- " + id} {
		chosen, _, _, err := parse(strings.Fields(line), io.Discard, io.Discard)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := fmt.Sprintf("%+v", chosen.Selected().Target.Interface()); !strings.Contains(got, id) || !strings.Contains(got, "DryRun:true") {
			t.Errorf("%s: %s", line, got)
		}
	}
	for _, line := range []string{"keys retire -x", "keys retire -Mble4fP16fDh0QiO.iSSKJ", "keys retire --Mble4fP16fDh0QiO_iSSKJ-wA9NRSUNHjGdjLe5oUM"} {
		if _, _, _, err := parse(strings.Fields(line), io.Discard, io.Discard); err == nil {
			t.Errorf("%s is taken", line)
		}
	}
}

// TestYesEverywhere: every command that changes records accepts --yes, whether or not it
// asks.
func TestYesEverywhere(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"users create --email a@b.example", "users invite a@b.example", "users set a --name b", "users block a --why b", "users unblock a", "users end-sessions a",
		"users delete a", "users keep a", "sessions end a b", "accounts unlink a b c", "tokens create a --name b", "tokens revoke a b", "keys rotate", "keys retire a",
		"migrate up", "migrate down", "migrate compat none", "migrate reseal", "migrate normalize", "migrate emails", "migrate tokens", "migrate issuer a",
	} {
		if _, _, _, err := parse(append(strings.Fields(line), "--yes"), io.Discard, io.Discard); err != nil {
			t.Errorf("%s --yes: %v", line, err)
		}
	}
	if _, _, _, err := parse([]string{"users", "list", "--yes"}, io.Discard, io.Discard); err == nil {
		t.Error("a command that only reads takes --yes")
	}
}

// TestJSONEverywhere: every command about people accepts --json.
func TestJSONEverywhere(t *testing.T) {
	t.Parallel()
	var all commands
	root, n := newParser(&all, io.Discard, io.Discard).Model.Node, 0
	for _, group := range root.Children {
		if !slices.Contains([]string{"users", "sessions", "accounts"}, group.Name) {
			continue
		}
		for _, c := range group.Children {
			n++
			if !slices.ContainsFunc(c.Flags, func(f *kong.Flag) bool { return f.Name == "json" }) {
				t.Errorf("%s %s has no --json", group.Name, c.Name)
			}
		}
	}
	if n < 15 {
		t.Errorf("%d commands", n)
	}
}

// TestHelpOfCommand: an error in a command line names the help of its command.
func TestHelpOfCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"servr": "authsvc", "--nope": "authsvc", "serve --nope": "authsvc serve", "-c x.yaml check --nope": "authsvc check", "users set a --nope": "authsvc users set",
		"users set": "authsvc users set", "users nothing": "authsvc users", "users list nothing": "authsvc users list", "users --limit x": "authsvc users", "migrate emails --nope": "authsvc migrate normalize", "migrate compat nothing": "authsvc migrate compat",
	} {
		_, _, _, err := parse(strings.Fields(line), io.Discard, io.Discard)
		if err == nil {
			t.Errorf("%s is accepted", line)
		} else if got := commandOf(err); got != want {
			t.Errorf("%s: %v; see %s --help, want %s", line, err, got, want)
		}
	}
}
