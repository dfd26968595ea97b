package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// systemctl stands in for systemd: it does for authsvc what deploy/authsvc.service says
// about variables, credentials, folders and the user. $STATE is a folder of the test.
const systemctl = `#!/bin/sh
set -eu
unit=/etc/systemd/system/authsvc.service
setting() { sed -n "s/^$1=-\{0,1\}//p" "$unit" | sed "s#%d#/run/credentials#g; s#%S#/var/lib#g"; }
start() {
	install -d -o authsvc -g authsvc -m 700 "/var/lib/$(setting StateDirectory)"
	install -d -o authsvc -g authsvc -m 750 "/run/$(setting RuntimeDirectory)"
	install -d -m 755 /run/credentials
	credential=$(setting LoadCredential)
	install -o authsvc -m 400 "${credential#*:}" "/run/credentials/${credential%%:*}"
	(
		setting Environment >"$STATE/variables"
		cat "$(setting EnvironmentFile)" >>"$STATE/variables"
		while IFS= read -r line; do case $line in *=*) export "$line" ;; esac; done <"$STATE/variables"
		cd "$(setting WorkingDirectory)"
		umask "$(setting UMask)"
		exec setpriv "--reuid=$(setting User)" "--regid=$(setting Group)" --init-groups --no-new-privs --bounding-set=-all $(setting ExecStart) </dev/null >>"$STATE/log" 2>&1
	) &
	echo $! >"$STATE/pid"
	until /usr/local/sbin/authsvc-admin healthcheck --ready >/dev/null 2>&1; do
		kill -0 "$(cat "$STATE/pid")" || { cat "$STATE/log"; exit 1; }
		sleep 0.05
	done
}
stop() {
	kill -TERM "$(cat "$STATE/pid")"
	while kill -0 "$(cat "$STATE/pid")" 2>/dev/null; do sleep 0.05; done
}
case "$*" in
daemon-reload) ;;
'start authsvc' | 'enable --now authsvc') start ;;
'stop authsvc') stop ;;
'restart authsvc') stop && start ;;
*) echo "the test does not know systemctl $*" >&2; exit 2 ;;
esac
`

// ownFolders makes folders of the system private to the test. /etc is a copy.
const ownFolders = `set -eu
mkdir "$STATE/etc" "$STATE/bin" "$STATE/sbin" "$STATE/lib" "$STATE/run" "$STATE/backups"
cp -a /etc/. "$STATE/etc/"
mkdir -p "$STATE/etc/systemd/system"
mount --bind "$STATE/etc" /etc
mount --bind "$STATE/bin" /usr/local/bin
mount --bind "$STATE/sbin" /usr/local/sbin
mount --bind "$STATE/lib" /var/lib
mount --bind "$STATE/backups" /var/backups
mount --bind "$STATE/run" /run
`

// A rootShell runs commands as root with folders of its own.
type rootShell struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// newRootShell starts a shell in dir. Its processes end with it.
func newRootShell(t *testing.T, dir string) *rootShell {
	t.Helper()
	own := []string{"--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if out, err := exec.CommandContext(t.Context(), "unshare", append(own, "true")...).CombinedOutput(); err != nil || os.Geteuid() != 0 {
		t.Skipf("needs root and a namespace, to install a service in folders of its own: %v %s", err, out)
	}
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "systemctl"), []byte(systemctl), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(own, "sh")...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + state + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "STATE=" + state, "HOME=" + state}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &rootShell{t, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		if t.Failed() {
			if log, err := os.ReadFile(filepath.Join(state, "log")); err == nil {
				t.Logf("the service said\n%.4000s", log)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.do(ownFolders)
	return s
}

const shellDone = "the command ended with "

// do runs commands, and returns their output.
func (s *rootShell) do(commands string) string {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, "(\n%s\n) </dev/null 2>&1; echo \"%s$?\"\n", commands, shellDone); err != nil {
		s.t.Fatal(err)
	}
	var all strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s\n%s%s\n%v", commands, &all, line, err)
		}
		if before, code, ended := strings.Cut(line, shellDone); ended {
			if all.WriteString(before); code != "0\n" {
				s.t.Fatalf("%s\n%sexit code %s", commands, &all, code)
			}
			return all.String()
		}
		all.WriteString(line)
	}
}

// testInstall follows docs/deploy.md in a clone that has been built: it installs the
// service, configures and starts it, replaces its secret, upgrades it, and rolls it back.
func testInstall(t *testing.T, clone string) {
	t.Helper()
	blocks, _ := deployBlocks(t)
	s, op, addr := newRootShell(t, clone), startProvider(t), freeAddress(t)
	origin := "http://" + addr
	follow := func(heading string) (said string) {
		t.Helper()
		for _, line := range slices.Concat(blocks[heading]...) {
			if line != "make build" { // done, as deploy/Dockerfile says
				said += s.do(line)
			}
		}
		return said
	}
	follow("Install it")
	s.do(fmt.Sprintf(`set -eu
sed -i -e 's#^url: .*#url: %s#' -e '/id: github/d' /etc/authsvc/authsvc.yaml
cat >>/etc/authsvc/authsvc.yaml <<'END'
  - {id: op, type: oidc, name: Op, issuer: "%s", client_id: app}
listen: %s
tokens: {audiences: [{id: api}]}
END
echo AUTHSVC_OP_SECRET=test-client-secret >/etc/authsvc/env`, origin, op.Issuer(), addr))
	follow("Configure it")
	follow("Start it")
	p := newPerson(origin, op, nil)
	if err := p.signIn(); err != nil {
		t.Fatal(err)
	}
	if got := s.do("authsvc-admin users list; stat -c '%U %a %n' /var/lib/authsvc/authsvc.db /run/authsvc/admin.sock"); !strings.Contains(got, "grace@example.com") ||
		!strings.Contains(got, "authsvc 600 /var/lib/authsvc/authsvc.db") || !strings.Contains(got, "authsvc 660 /run/authsvc/admin.sock") {
		t.Error(got)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) { // the store gets events in batches
		got := s.do("authsvc-admin users end-sessions grace@example.com --dry-run && authsvc-admin audit")
		if strings.Contains(got, "sign_in.succeeded") {
			break
		}
		if time.Now().After(deadline) {
			t.Error(got)
			break
		}
	}
	if secrets := s.do(`tr '\0' '\n' <"/proc/$(cat "$STATE/pid")/environ"`); strings.Contains(secrets, "AUTHSVC_SECRET=") || !strings.Contains(secrets, "AUTHSVC_SECRET_FILE=") {
		t.Errorf("the environment of the service: %s", secrets)
	}
	const sealed = "ok     records: all sealed records are sealed by the first secret"
	for _, steps := range [][2]string{
		{"Replace it without signing people out", "resealed the tokens of 1 account; "}, // the start reseals the signing keys
		{"After a leak of the secret", "resealed the tokens of 1 account, the signing keys; "},
	} {
		heading, reseals := steps[0], steps[1]
		before := s.do("cat /etc/authsvc/secret")
		if got := follow(heading); !strings.Contains(got, reseals) || !strings.Contains(got, sealed) || strings.Contains(got, "warning") {
			t.Errorf("%s:\n%s", heading, got)
		}
		if after := s.do("cat /etc/authsvc/secret"); strings.Contains(after, strings.TrimSpace(before)) || strings.Count(after, "\n") != 1 ||
			s.do("stat -c '%U %a' /etc/authsvc/secret; ls /etc/authsvc/secret*") != "root 600\n/etc/authsvc/secret\n" {
			t.Errorf("%s: the secret is not a new one alone, for root alone", heading)
		}
		if err := p.signedIn(); err != nil {
			t.Errorf("%s: %v", heading, err)
		}
	}
	follow("Upgrade")
	if err := p.signedIn(); err != nil {
		t.Errorf("after the upgrade: %v", err)
	}
	follow("Roll back")
	if err := p.signedIn(); err != nil {
		t.Errorf("after the rollback: %v", err)
	}
	if got := s.do("authsvc-admin migrate status >/run/schema && diff /etc/authsvc/schema.old /run/schema && echo same"); got != "same\n" {
		t.Errorf("the schema after the rollback:\n%s", got)
	}
	s.do("systemctl stop authsvc; ! grep -iE 'level=(warn|error)' \"$STATE/log\"")
}
