package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExitCodes: the exit code is 2 for a mistake in the command line or in the
// configuration, and 1 if a command could not do its work or found something.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const start = "url: https://app.example.com\nsecret: " + testSecret + "\nproviders: [{id: github, client_id: a, client_secret: b}]\n"
	gate := "gate: {hosts: [{origin: https://wiki.example.com, upstream: \"http://127.0.0.1:1\"}]}\n"
	good := write("good.yaml", start+"storage: {url: \"sqlite:"+filepath.Join(dir, "a.db")+"\"}\n"+gate)
	tokens := write("tokens.yaml", start+"storage: {url: \"sqlite:"+filepath.Join(dir, "a.db")+"\"}\n"+"tokens: {audiences: [{id: api}]}\npersonal_tokens: {enabled: true}\n")
	unstored := write("unstored.yaml", start+"storage: {url: none}\n")
	wrong := write("wrong.yaml", start+"sesion: {}\n")
	empty := write("empty.pem", "")
	for _, line := range []string{"migrate up", "users create --email ann@x.test"} {
		var said bytes.Buffer
		if code := run(t.Context(), append(strings.Fields(line), "-c", good), nil, strings.NewReader(""), &said, &said); code != exitOK {
			t.Fatalf("%s: exit code %d\n%s", line, code, &said)
		}
	}
	name := func(characters int) string { return strings.Repeat("é", characters) }
	for line, want := range map[string]int{
		"version":                    exitOK,
		"help users":                 exitOK,
		"users -c GOOD":              exitOK,
		"users export --all -c GOOD": exitOK,
		"audit -c GOOD":              exitOK,
		"audit --since 2026-11-01 --event user.blocked,user.unblocked -c GOOD":      exitOK,
		"users create --email bob@x.test --name " + name(100) + " -c GOOD":          exitOK,
		"users set ann@x.test --name " + name(100) + " -c GOOD":                     exitOK,
		"tokens create ann@x.test --name " + name(64) + " --audience api -c TOKENS": exitOK,
		"tokens create ann@x.test --name b --audience api --expires 1m -c TOKENS":   exitOK,

		"users create --email ann@x.test --name b -c GOOD":         exitFailed,
		"users set absent --name " + name(101) + " -c GOOD":        exitFailed,
		"tokens create absent --name b --audience nope -c TOKENS":  exitFailed,
		"tokens create ann@x.test --name b --audience api -c GOOD": exitFailed,
		"users show absent -c GOOD":                                exitFailed,
		"users export absent -c GOOD":                              exitFailed,
		"audit --user absent -c GOOD":                              exitFailed,
		"sessions absent -c GOOD":                                  exitFailed,
		"users -c UNSTORED":                                        exitFailed,
		"audit -c UNSTORED":                                        exitFailed,
		"keys list -c GOOD":                                        exitFailed,
		"check --offline -c WRONG":                                 exitFailed, // it reports what it found
		"healthcheck --url http://127.0.0.1:1/livez -c GOOD":       exitUsage,

		"dev --host 0.0.0.0 --listen localhost:1": exitUsage,
		"serv":                          exitUsage,
		"help serv":                     exitUsage,
		"users shw":                     exitUsage,
		"users --what":                  exitUsage,
		"users -c WRONG":                exitUsage,
		"users -c MISSING":              exitUsage,
		"serve -c WRONG":                exitUsage,
		"users list --limit=-1 -c GOOD": exitUsage,
		"users export -c GOOD":          exitUsage,
		"users export a --all -c GOOD":  exitUsage,
		"users end-sessions -c GOOD":    exitUsage,
		"users delete absent":           exitUsage,
		"users set a -c GOOD":           exitUsage,
		"users create --email cid@x.test --name " + name(101) + " -c GOOD":               exitUsage,
		"users set ann@x.test --name " + name(101) + " -c GOOD":                          exitUsage,
		"users set ann@x.test --yes --email dan@x.test --name " + name(101) + " -c GOOD": exitUsage,
		"tokens create ann@x.test --name b --audience nope -c TOKENS":                    exitUsage,
		"tokens create ann@x.test --name b --host * -c TOKENS":                           exitUsage,
		"tokens create ann@x.test --name b -c TOKENS":                                    exitUsage,
		"tokens create ann@x.test --name " + name(65) + " --audience api -c TOKENS":      exitUsage,
		"tokens create ann@x.test --name b --audience api --expires 1s -c TOKENS":        exitUsage,
		"tokens create ann@x.test --name b --audience api --expires 367d -c TOKENS":      exitUsage,
		"users create --email nothing -c GOOD":                                           exitUsage,
		"audit --since soon -c GOOD":                                                     exitUsage,
		"audit --until soon -c GOOD":                                                     exitUsage,
		"audit --event user.blockd -c GOOD":                                              exitUsage,
		"tokens create a --name b --expires soon -c GOOD":                                exitUsage,
		"migrate issuer nowhere -c GOOD":                                                 exitUsage,
		"migrate compat strange -c GOOD":                                                 exitUsage,
		"probe --ca-file MISSING -c GOOD":                                                exitUsage,
		"probe --ca-file EMPTY -c GOOD":                                                  exitUsage,
		"probe --cookie-file MISSING -c GOOD":                                            exitUsage,
		"probe --rate 0 -c GOOD":                                                         exitUsage,
		"dev --listen nowhere":                                                           exitUsage,
		"dev --host 0.0.0.0 -c GOOD":                                                     exitUsage,
		"users --dev MISSING":                                                            exitUsage,
		"migrate-from next-auth --url nowhere":                                           exitUsage,
		"migrate-from next-auth -o EMPTY":                                                exitUsage,
		"rules test MISSING -c GOOD":                                                     exitUsage,
		"completion tcsh":                                                                exitUsage,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			args := strings.Fields(strings.NewReplacer("GOOD", good, "TOKENS", tokens, "UNSTORED", unstored, "WRONG", wrong, "EMPTY", empty, "MISSING", filepath.Join(dir, "missing")).Replace(line))
			if code := run(t.Context(), args, nil, strings.NewReader(""), &out, &out); code != want {
				t.Errorf("exit code %d, want %d\n%s", code, want, &out)
			}
		})
	}
}
