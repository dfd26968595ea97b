package servertest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// PgBouncer starts a pooler in front of the server of a URL of Postgres or OwnPostgres.
// It lends size server connections for each database, for a transaction at a time. The
// result maps further URLs of that server to it. If PgBouncer is not installed, it skips
// the test.
func PgBouncer(t testing.TB, server string, size int) (through func(location string) string) {
	t.Helper()
	path := find(t, "PgBouncer", "pgbouncer", "/usr/sbin")
	behind, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	user := userFor(t, "postgres") // it refuses to run as root
	dir := serverDir(t, user)
	port := freePort(t)
	login := "user=" + behind.User.Username()
	if password, ok := behind.User.Password(); ok {
		login += " password='" + password + "'"
	}
	config := fmt.Sprintf("[databases]\n* = host=%s port=%s %s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\n"+
		"auth_type = any\npool_mode = transaction\ndefault_pool_size = %d\nmax_client_conn = 500\nlogfile = %s\n",
		behind.Hostname(), behind.Port(), login, port, size, filepath.Join(dir, "pgbouncer.log"))
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := chown(dir, user); err != nil {
		t.Fatal(err)
	}
	through = func(location string) string {
		u, err := url.Parse(location)
		if err != nil {
			t.Fatal(err)
		}
		u.Host = net.JoinHostPort("127.0.0.1", port)
		return u.String()
	}
	own(t, dir, through(server), program{path: path, args: []string{file}, user: user, stop: syscall.SIGINT}, postgres.ping)
	return through
}
