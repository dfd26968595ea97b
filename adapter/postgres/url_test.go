package postgres

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"authsvc/internal/sql/sqladapter"
)

func TestParseTLS(t *testing.T) {
	t.Parallel()
	const plain, loose, full = "plain", "unverified", "verified"
	for location, want := range map[string]string{
		"postgres://u:secret@127.0.0.1/db":                              loose + " " + plain,
		"postgres://u:secret@[::1]:5433/db":                             loose + " " + plain,
		"postgresql://u:secret@localhost/db?application_name=x":         loose + " " + plain,
		"postgres://u:secret@/db?host=/run/postgresql":                  plain,
		"postgres://u:secret@db.example.com/db":                         full,
		"postgres://u:secret@10.0.0.5:6432/db?search_path=x":            full,
		"postgres://u:secret@db.example.com/db?sslmode=verify-full":     full,
		"postgres://u:secret@db.example.com/db?sslmode=require":         loose,
		"postgres://u:secret@db.example.com/db?ssl=true":                loose,
		"postgres://u:secret@db.example.com/db?sslmode=disable":         plain,
		"postgres://u:secret@127.0.0.1:1,db.example.com:2/db":           full + " " + full,
		"postgres://u:secret@db.example.com/db?sslmode=prefer":          "",
		"postgres://u:secret@db.example.com/db?sslmode=allow":           "",
		"postgres://u:secret@127.0.0.1,db.example.com/db?sslmode=allow": "",
		"postgres://u:secret@db.example.com/db?sslmode=maybe":           "",
		"postgres://u:secret@db.example.com/db?host=127.0.0.1":          loose + " " + plain, // the parameter counts
	} {
		target, err := parse(location)
		if want == "" {
			if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", location, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", location, err)
			continue
		}
		var got []string
		for _, host := range target.hosts() {
			got = append(got, kindOf(host.TLSConfig))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", location, got, want)
		}
	}
}

func kindOf(c *tls.Config) string {
	switch {
	case c == nil:
		return "plain"
	case c.InsecureSkipVerify:
		return "unverified"
	}
	return "verified"
}

// TestParseEnvironment checks that the environment does not weaken the defaults of the
// URL.
func TestParseEnvironment(t *testing.T) {
	t.Setenv("PGSSLMODE", "disable")
	t.Setenv("PGTARGETSESSIONATTRS", "any")
	target, err := parse("postgres://u@a.example.com,b.example.com/db")
	if err != nil {
		t.Fatal(err)
	}
	if target.config.TLSConfig == nil || target.config.ValidateConnect == nil {
		t.Error("TLS or the choice of the primary was switched off")
	}
}

func TestParseRest(t *testing.T) {
	t.Parallel()
	target, err := parse("postgres://u:p@h1.example.com,h2.example.com:99/db?pool_max_conns=7&pool_max_conn_idle_time=30s&pool_max_conn_lifetime=2h")
	if err != nil {
		t.Fatal(err)
	}
	if target.pool != (sqladapter.Pool{Size: 7, IdleTime: 30 * time.Second, Lifetime: 2 * time.Hour}) || target.config.RuntimeParams["pool_max_conns"] != "" {
		t.Errorf("got %+v", target.pool)
	}
	if target.config.ValidateConnect == nil {
		t.Error("with several hosts any will do")
	}
	if got := target.where(); got != "h1.example.com:5432,h2.example.com:99/db" {
		t.Errorf("it is %s", got)
	}
	target, err = parse("postgres://u:p@h1.example.com/db?connect_timeout=9")
	if err != nil {
		t.Fatal(err)
	}
	if target.config.ValidateConnect != nil || target.config.ConnectTimeout != 9*time.Second || target.pool.Size != 10 {
		t.Errorf("got %+v", target)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"", "mysql://u:secret@h/db", "u:secret@h/db", "host=h password=secret", "postgres:/h",
		"postgres://u:secret@h:x/db", "postgres://u:sec:secret@h:70000/db", "postgres://u:%zzsecret@h/db", "postgres://u:secret\x00@h/db",
		"postgres://u:secret@h/db?x=%zz", "postgres://u:secret@h/db?pool_max_conns=3", "postgres://u:secret@h/db?pool_max_conns=many",
		"postgres://u:secret@h/db?pool_min_conns=3", "postgres://u:secret@h/db?pool_max_conn_lifetime=0s",
		"postgres://u:secret@h/db?sslrootcert=/there/is/none", "postgres://u:secret@h/db?target_session_attrs=x",
		"postgres://u:secret@h:1,i:2,j/db?port=1,2", "postgres://u:secret#@h:p/db"} {
		_, err := parse(location)
		if err == nil {
			t.Errorf("%q was taken", location)
			continue
		}
		if said := err.Error(); strings.Contains(said, "secret") || strings.Contains(said, "\n") || !strings.HasPrefix(said, "postgres: ") {
			t.Errorf("%q: %s", location, said)
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "localhost": true, "/run": true, "@abstract": true,
		"10.0.0.1": false, "localhost.example.com": false, "db": false, "0.0.0.0": false, "127.0.0.1.nip.io": false} {
		if local(host) != want {
			t.Errorf("%s: got %v", host, !want)
		}
	}
}

// TestPoolOverVariables checks that a libpq variable is ignored if the URL overrides
// it.
func TestPoolOverVariables(t *testing.T) {
	target, err := parse("postgres://u@h1.example.com:99/db?sslmode=disable&connect_timeout=9&target_session_attrs=any")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"PGSSLMODE": "nonsense", "PGPORT": "nonsense", "PGCONNECT_TIMEOUT": "nonsense", "PGTARGETSESSIONATTRS": "nonsense"} {
		t.Setenv(name, value)
	}
	pool, err := target.newPool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if is := pool.Config().ConnConfig; is.Host != "h1.example.com" || is.Port != 99 || is.User != "u" {
		t.Errorf("%s@%s:%d", is.User, is.Host, is.Port)
	}
}
