package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// ferretVariable names the program that tools/ferretdb builds.
const ferretVariable = "AUTHSVC_TEST_FERRETDB_BIN"

var postgresTemplate, mysqlTemplate template

// OwnPostgres starts a PostgreSQL server that makes every commit durable. The
// test is skipped where PostgreSQL is not installed.
func OwnPostgres(t testing.TB) *Server {
	t.Helper()
	initdb := find(t, "PostgreSQL", "initdb", "/usr/lib/postgresql/*/bin")
	user := userFor(t, "postgres")
	dir := serverDir(t, user)
	data := filepath.Join(dir, dataName)
	postgresTemplate.copyTo(t, data, user, func(data string) error {
		return runAs(user, initdb, "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync")
	})
	port := freePort(t)
	return own(t, dir, "postgres://postgres@127.0.0.1:"+port+"/postgres?sslmode=disable", program{
		path: filepath.Join(filepath.Dir(initdb), "postgres"),
		args: []string{"-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
			// In files, which go with the directory even after a kill.
			"-c", "dynamic_shared_memory_type=mmap", "-c", "shared_buffers=32MB"},
		user: user, stop: syscall.SIGINT,
	}, postgres.ping)
}

// OwnMySQL starts a MariaDB server that makes every commit durable. The test
// is skipped where MariaDB is not installed.
func OwnMySQL(t testing.TB) *Server {
	t.Helper()
	mariadbd := find(t, "MariaDB", "mariadbd", "/usr/sbin")
	install := find(t, "MariaDB", "mariadb-install-db")
	user := userFor(t, "mysql")
	dir := serverDir(t, user)
	data := filepath.Join(dir, dataName)
	// A server deletes all temporary tables that it finds when it starts: in
	// the shared directory it would take those of others, who then crash.
	const small, temporary = "--innodb-log-file-size=16M", "--tmpdir="
	mysqlTemplate.copyTo(t, data, user, func(data string) error {
		return runAs(user, install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db", small,
			temporary+filepath.Dir(data))
	})
	port := freePort(t)
	s := own(t, dir, "mysql://root@127.0.0.1:"+port+"/", program{
		path: mariadbd,
		args: []string{"--no-defaults", "--datadir=" + data, "--bind-address=127.0.0.1", "--port=" + port,
			"--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"), "--skip-name-resolve",
			"--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=32M", small, temporary + dir},
		user: user, stop: syscall.SIGTERM,
	}, mysqlServer.ping)
	if err := mysqlServer.do(s.URL, all(fmt.Sprintf(createMySQL, ownDatabase))); err != nil {
		t.Fatal(err)
	}
	s.URL += ownDatabase
	return s
}

// ownDatabase is the empty database of a server whose kind has none at first.
const ownDatabase = "authsvc"

// OwnRedis starts a Redis server that makes every command durable; args are
// more of its options, like "--maxmemory", "2mb". The test is skipped where
// Redis is not installed.
func OwnRedis(t testing.TB, args ...string) *Server {
	t.Helper()
	path := find(t, "Redis", "redis-server")
	dir := serverDir(t, nil)
	port := freePort(t)
	return own(t, dir, "redis://127.0.0.1:"+port+"/0", program{
		path: path,
		args: slices.Concat([]string{"--bind", "127.0.0.1", "--port", port, "--dir", dir,
			"--save", "", "--appendonly", "yes", "--appendfsync", "always"}, args),
		stop: syscall.SIGTERM,
	}, pingRedis)
}

// OwnFerretDB starts the FerretDB that tools/ferretdb builds, which
// AUTHSVC_TEST_FERRETDB_BIN names, else the ferretdb of PATH. The test is
// skipped when there is neither.
func OwnFerretDB(t testing.TB) *Server {
	t.Helper()
	path := os.Getenv(ferretVariable)
	if path == "" {
		path = find(t, "FerretDB ("+ferretVariable+")", "ferretdb")
	}
	dir := serverDir(t, nil)
	address := "127.0.0.1:" + freePort(t)
	return own(t, dir, "mongodb://"+address+"/"+ownDatabase, program{
		path: path,
		args: []string{"-listen", address, "-dir", filepath.Join(dir, dataName)},
		stop: syscall.SIGTERM,
	}, pingMongoDB)
}

// find returns the path of a program, in the newest of the directories or in
// PATH; the test is skipped when it is not installed.
func find(t testing.TB, server, name string, dirs ...string) string {
	t.Helper()
	NotShort(t)
	supported(t)
	for _, dir := range dirs {
		if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s: %s is not installed", server, name)
	}
	return path
}

func userFor(t testing.TB, name string) *account {
	t.Helper()
	a, err := findAccount(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// serverDir makes a server's directory; the server deletes it.
func serverDir(t testing.TB, a *account) string {
	t.Helper()
	dir, err := newDir(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
