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

// ferretVariable names the variable for the program that tools/ferretdb builds.
const ferretVariable = "AUTHSVC_TEST_FERRETDB_BIN"

var postgresTemplate, mysqlTemplate template

// OwnPostgres starts a PostgreSQL server that makes every commit durable. If
// PostgreSQL is not installed, it skips the test.
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
			// Shared memory in files disappears with the directory, even after a
			// kill.
			"-c", "dynamic_shared_memory_type=mmap", "-c", "shared_buffers=32MB"},
		user: user, stop: syscall.SIGINT,
	}, postgres.ping)
}

// OwnMySQL starts a MariaDB server that makes every commit durable. If MariaDB is not
// installed, it skips the test.
func OwnMySQL(t testing.TB) *Server {
	t.Helper()
	mariadbd := find(t, "MariaDB", "mariadbd", "/usr/sbin")
	install := find(t, "MariaDB", "mariadb-install-db")
	user := userFor(t, "mysql")
	dir := serverDir(t, user)
	data := filepath.Join(dir, dataName)
	// At its start, a server deletes all temporary tables in its directory. In a
	// shared directory, it would delete the tables of other servers, which then
	// crash.
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

// ownDatabase names the database on servers that start without one.
const ownDatabase = "authsvc"

// OwnRedis starts a Redis server that makes every command durable. args adds options,
// such as "--maxmemory", "2mb". If Redis is not installed, it skips the test.
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

// OwnFerretDB starts the FerretDB named by AUTHSVC_TEST_FERRETDB_BIN, as
// tools/ferretdb builds it, or else the ferretdb in PATH. If there is neither, it
// skips the test.
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

// find returns the path of a program in the newest of the directories or in PATH. If
// it is not installed, find skips the test.
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

// serverDir makes a server's directory. discard removes it.
func serverDir(t testing.TB, a *account) string {
	t.Helper()
	dir, err := newDir(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
