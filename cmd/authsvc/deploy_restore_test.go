package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"authsvc/internal/dev/idp"
	"authsvc/internal/test/servertest"
)

// A deployment is a service whose operator follows docs/deploy.md.
type deployment struct {
	t        *testing.T
	op       *idp.Server
	addr     string
	dir      string // in place of /var/lib/authsvc
	bin      string // has authsvc-admin
	backups  string // in place of /var/backups/authsvc
	storage  string // a URL
	database string // its name in the page's commands
	config   string
	running  *process
	steps    map[string]func() // steps of the page that are not commands
}

func newDeployment(t *testing.T, storage, strategy string) *deployment {
	t.Helper()
	d := &deployment{t: t, op: startProvider(t), addr: freeAddress(t), dir: t.TempDir(), bin: t.TempDir(), backups: filepath.Join(t.TempDir(), "authsvc"), storage: storage}
	if d.storage == "" {
		d.storage = "sqlite://" + filepath.Join(d.dir, "authsvc.db")
	}
	if _, err := d.op.AddPerson(idp.Person{Sub: "eve", Name: "Eve", Email: "eve@example.com", EmailVerified: true}); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(d.storage)
	if err != nil {
		t.Fatal(err)
	}
	d.database = strings.TrimPrefix(u.Path, "/")
	d.config = testConfig("http://"+d.addr, d.op, "session: {strategy: "+strategy+"}")
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(d.bin, "authsvc")) // TestMain makes it the program
	}
	if err != nil {
		t.Fatal(err)
	}
	d.file(filepath.Join(d.bin, "authsvc-admin"), 0o700, fmt.Sprintf("#!/bin/sh\ncd '%s'\nexec '%s/authsvc' \"$@\" --config '%s'\n", d.dir, d.bin, configFile(d.addr)))
	password, _ := u.User.Password()
	d.file(filepath.Join(d.bin, ".my.cnf"), 0o600, fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", u.Hostname(), u.Port(), u.User.Username(), password))
	return d
}

func (d *deployment) file(name string, mode os.FileMode, text string) {
	d.t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		d.t.Fatal(err)
	}
}

func (d *deployment) start() {
	d.t.Helper()
	d.running = newProcess(d.t, d.dir, d.addr, d.config, "AUTHSVC_STORAGE_URL="+d.storage)
	d.running.start()
}

// do runs a line of the page, with the paths and names of the test.
func (d *deployment) do(line string) string {
	d.t.Helper()
	if step := d.steps[line]; step != nil {
		step()
		return ""
	}
	switch line {
	case "systemctl stop authsvc":
		d.running.terminate()
		return ""
	case "systemctl start authsvc":
		d.start()
		return ""
	}
	command := strings.NewReplacer("/var/lib/authsvc", d.dir, "/var/backups/authsvc", d.backups, "-o authsvc -g authsvc ", "").Replace(line)
	command = regexp.MustCompile(` authsvc$`).ReplaceAllLiteralString(command, " "+d.database)
	cmd := exec.CommandContext(d.t.Context(), "sh", "-eu", "-c", command)
	cmd.Dir = d.dir
	shown, password := withoutPassword(d.t, d.storage)
	cmd.Env = []string{"PATH=" + d.bin + ":" + os.Getenv("PATH"), "HOME=" + d.bin, "STORAGE_URL=" + shown, "AUTHSVC_STORAGE_URL=" + d.storage, "GORACE=atexit_sleep_ms=0"}
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password, "REDISCLI_AUTH="+password)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// withoutPassword returns the URL of a store as its operator writes it on a command line,
// and its password.
func withoutPassword(t *testing.T, storage string) (shown, password string) {
	t.Helper()
	u, err := url.Parse(storage)
	if err != nil {
		t.Fatal(err)
	}
	if u.User != nil {
		password, _ = u.User.Password()
		u.User = url.User(u.User.Username())
	}
	return u.String(), password
}

// browse returns a person who signs in.
func (d *deployment) browse(sub string) *person {
	d.t.Helper()
	p := newPerson("http://"+d.addr, d.op, nil)
	if err := p.SignIn(d.op, sub); err != nil {
		d.t.Fatal(err)
	}
	return p
}

// copied returns a browser with the same cookies.
func (d *deployment) copied(p *person) *person {
	d.t.Helper()
	b, err := p.Clone()
	if err != nil {
		d.t.Fatal(err)
	}
	return &person{b, p.op}
}

// expect checks whose session the cookies of a browser are, "" for none. The browser
// keeps them even if the service removes them.
func (d *deployment) expect(when string, p *person, want string) {
	d.t.Helper()
	if got, err := d.copied(p).Email(); got != want || err != nil {
		d.t.Errorf("%s: signed in as %q, %v, want %q", when, got, err, want)
	}
}

// endAll is the step after each restore.
const endAll = "authsvc-admin users end-sessions --all --yes"

// TestRestore follows docs/deploy.md: a backup during sign-ins, and a restore. The
// people are there afterwards. A session that ended after the backup is valid again
// until all sessions are ended.
func TestRestore(t *testing.T) {
	t.Parallel()
	servertest.NotShort(t)
	for _, c := range []struct {
		name, heading, strategy string
		storage                 func(t *testing.T) string
		needs                   []string
	}{
		{"sqlite", "SQLite", "database", nil, []string{"sqlite3"}},
		{"sqlite, jwt", "SQLite", "jwt", nil, []string{"sqlite3"}},
		{"postgres", "PostgreSQL", "database", func(t *testing.T) string { return servertest.Postgres(t) }, []string{"pg_dump", "pg_restore"}},
		{"mariadb", "MySQL and MariaDB", "database", func(t *testing.T) string { return servertest.MySQL(t) }, []string{"mariadb-dump", "mariadb"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, program := range c.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("needs %s", program)
				}
			}
			storage := ""
			if c.storage != nil {
				storage = c.storage(t)
			}
			blocks, _ := deployBlocks(t)
			d := newDeployment(t, storage, c.strategy)
			d.start()
			d.testRestore(c.strategy == "jwt", blocks[c.heading][0], blocks[c.heading][1])
		})
	}
}

// testRestore makes a backup, ends a session, and restores the backup.
func (d *deployment) testRestore(jwt bool, backup, restore []string) {
	d.t.Helper()
	stays, leaves := d.browse("ada"), d.browse("alan")
	people := startLoad(d.t, 2, func() error { return newPerson("http://"+d.addr, d.op, nil).signIn() })
	eventually(d.t, "signing in", func() bool { return people.count() > 5 })
	for _, line := range backup {
		d.do(line)
	}
	done := people.count()
	eventually(d.t, "signing in after the backup", func() bool { return people.count() > done })
	people.stop() // on a slow disk, a sign-in may end with 503, which is not the subject here
	if err := d.copied(leaves).SignOut(); err != nil {
		d.t.Fatal(err)
	}
	d.expect("after the sign-out", leaves, "")
	late := d.browse("eve")
	ended := false
	for _, line := range restore {
		if line == endAll { // first, what the page warns of
			ended = true
			d.start()
			d.expect("restored", stays, "ada@example.com")
			d.expect("restored, but signed out after the backup", leaves, "alan@example.com")
			d.running.terminate()
		}
		d.do(line)
	}
	if !ended {
		d.t.Fatalf("the page does not end all sessions: %q", restore)
	}
	d.expect("restored", stays, "")
	d.expect("signed out after the backup", leaves, "")
	if jwt { // the store does not have this user
		d.expect("signed up after the backup", late, "eve@example.com")
		d.running.terminate()
		const next = "another secret, of the day after the restore"
		d.running.writeConfig(strings.Replace(d.config, testSecret, `["`+next+`", `+testSecret+"]", 1))
		d.do("authsvc-admin migrate reseal")
		d.config = strings.Replace(d.config, testSecret, next, 1)
		d.start()
	}
	d.expect("signed up after the backup", late, "")
	if shown := d.do("authsvc-admin users show ada@example.com"); !strings.Contains(shown, "1 account\n") || !strings.Contains(shown, "0 sessions\n") {
		d.t.Errorf("the user after the restore:\n%s", shown)
	}
	d.expect("signed in again", d.browse("ada"), "ada@example.com")
	d.running.terminate()
}

// TestRestoreRedis does the same with Redis as the whole store. Its restore is a list of
// steps.
func TestRestoreRedis(t *testing.T) {
	t.Parallel()
	servertest.NotShort(t)
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("needs redis-cli")
	}
	blocks, _ := deployBlocks(t)
	d := newDeployment(t, servertest.OwnRedis(t).URL, "database")
	d.start()
	restore := []string{"Stop authsvc and Redis.", "Remove `appendonlydir` from Redis's folder, and put `dump.rdb` there.", "Start Redis with `appendonly no`",
		"`redis-cli -u \"$STORAGE_URL\" CONFIG SET appendonly yes`", "`authsvc-admin users end-sessions --all`, and start authsvc."}
	for _, step := range restore {
		if !strings.Contains(deployPage(t), step) {
			t.Errorf("the page lacks %s", step)
		}
	}
	d.steps = map[string]func(){
		restore[0]: func() { d.running.terminate() },
		restore[2]: func() { // another server in place of the old one
			server := servertest.OwnRedis(t, "--appendonly", "no")
			dir := redisSetting(t, server.URL, "dir")
			server.Stop()
			if err := copyBackup(filepath.Join(d.backups, "dump.rdb"), filepath.Join(dir, "dump.rdb")); err != nil {
				t.Fatal(err)
			}
			server.Start()
			d.storage = server.URL
		},
		restore[4]: func() { d.start() },
	}
	d.testRestore(false, blocks["Redis"][0], []string{restore[0], restore[2], strings.Trim(restore[3], "`"), endAll, restore[4]})
	if got := redisSetting(t, d.storage, "appendonly"); got != "yes" {
		t.Errorf("appendonly %s", got)
	}
}

// redisSetting returns a setting of a Redis.
func redisSetting(t *testing.T, server, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "redis-cli", "-u", server, "CONFIG", "GET", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, v, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return v
}

func copyBackup(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o600)
}
