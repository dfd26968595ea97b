package redis

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

const secret = "hunter2-of-the-test"

// refused checks that the error of Open contains all words and no secret.
func refused(t *testing.T, url string, unreachable bool, words ...string) {
	t.Helper()
	s, err := Open(t.Context(), url, Options{Prefix: newPrefix()})
	if err == nil {
		s.Close()
		t.Errorf("opened %s", url)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v: nothing of %q", err, word)
		}
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the password is in %v", err)
	}
	if Unreachable(err) != unreachable {
		t.Errorf("%v: unreachable %v", err, !unreachable)
	}
}

func TestOpenURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "localhost", "http://u:" + secret + "@localhost", "redis://u:" + secret + "/x@localhost/0", "redis://u:" + secret + "@localhost:port",
		"redis://u:" + secret + "@localhost/" + secret, "redis://localhost/-1", "redis://localhost/1/2", "redis://localhost?" + secret + "=1",
		"rediss://u:" + secret + "@localhost?skip_verify=true", "unix://", "redis://u:" + secret + "%zz@localhost", "redis://localhost?max_retries=7",
	} {
		refused(t, url, false, "URL")
	}
	for url, addr := range map[string]string{
		"redis://":                         "localhost:6379",
		"redis://u:p@example.com/3":        "example.com:6379",
		"rediss://u:p%2F@[::1]:7/3":        "[::1]:7",
		"unix:///run/redis.sock?db=2":      "/run/redis.sock",
		"unix://u:p@/run/redis.sock":       "/run/redis.sock",
		"redis://:p%40ss@localhost:1?db=4": "localhost:1",
	} {
		if o, err := parseURL(url); err != nil || o.Addr != addr {
			t.Errorf("%s: %v, %v", url, o, err)
		}
	}
}

func TestOpenPrefix(t *testing.T) {
	t.Parallel()
	url := miniURL(t)
	for _, prefix := range []string{"a{b}", "a b", "*", "a\n"} {
		if _, err := Open(t.Context(), url, Options{Prefix: prefix}); err == nil || !strings.Contains(err.Error(), "prefix") {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
	s := open(t, url, "")
	if s.tag != "{authsvc}:" {
		t.Errorf("default tag %s", s.tag)
	}
}

func TestOpenPassword(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	m.RequireAuth(secret)
	refused(t, "redis://"+m.Addr(), false, "requires a password")
	refused(t, "redis://:wrong"+secret+"@"+m.Addr(), false, "refuses the user or the password")
	refused(t, "redis://"+secret+":"+secret+"@"+m.Addr(), false, "refuses the user or the password")
	open(t, "redis://:"+secret+"@"+m.Addr(), newPrefix())

	p := start(t, "--requirepass", secret)
	refused(t, p.url(), false, "requires a password")
	refused(t, "redis://:wrong"+secret+"@"+p.addr(), false, "refuses the user or the password")
	refused(t, "redis://nobody:"+secret+"@"+p.addr()+"/1", false, "refuses the user or the password")
	open(t, "redis://:"+secret+"@"+p.addr()+"/1", newPrefix())
}

func TestOpenUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, "redis://:"+secret+"@"+listener.Addr().String(), Options{}); !Unreachable(err) {
		t.Errorf("silent server: %v", err)
	}
	listener.Close()
	refused(t, "redis://:"+secret+"@"+listener.Addr().String(), true, "cannot be reached", listener.Addr().String())
	refused(t, "unix:///nonexistent/redis.sock", true, "cannot be reached")
	m := miniredis.RunT(t)
	m.SetError("LOADING Redis is loading the dataset in memory")
	refused(t, "redis://"+m.Addr(), true, "the server answers, but is not ready", "LOADING")
	m.SetError("ERR max number of clients reached")
	refused(t, "redis://"+m.Addr(), true, "raise its maxclients")
	m.SetError("ERR DB index is out of range")
	refused(t, "redis://"+m.Addr(), false, "has fewer databases")
	m.SetError("")
	open(t, "redis://"+m.Addr(), newPrefix())
}

func TestOpenSchema(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	for value, want := range map[string]string{"1": "", "2": "", "3": "", "4": "schema version 4 is newer than 3, the latest that this build supports: use a newer build",
		"x": "another prefix", "0": "another prefix"} {
		m.Set("{p}:schema", value)
		s, err := Open(t.Context(), "redis://"+m.Addr(), Options{Prefix: "p"})
		if want == "" && err == nil {
			s.Close()
		} else if want == "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("schema %s: %v", value, err)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for version, good := range map[string]bool{"6.2.0": true, "7.0.15": true, "10.1": true, "6.0.20": false, "5.9": false, "": true} {
		s := &Store{}
		if err := s.checkVersion(version); (err == nil) != good || (version == "") != (len(s.Warnings()) == 1) {
			t.Errorf("%q: %v, warnings %v", version, err, s.Warnings())
		}
	}
}

// TestOpenConfiguration checks which server configurations are refused, and which cause
// warnings.
func TestOpenConfiguration(t *testing.T) {
	t.Parallel()
	lasting := []string{"--appendonly", "yes", "--appendfsync", "always"}
	for _, c := range []struct {
		args    []string
		refusal string
		warning string
	}{
		{args: lasting},
		{args: append(lasting, "--maxmemory", "100mb")},
		{args: append(lasting, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"), refusal: "set it to noeviction"},
		{args: append(lasting, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"), refusal: "set it to noeviction"},
		{args: append(lasting, "--maxmemory-policy", "allkeys-lru"), warning: "set it to noeviction before"},
		{args: []string{"--appendonly", "yes"}, warning: "appendfsync is everysec"},
		{args: []string{"--appendonly", "no"}, warning: "nothing on disk"},
		{args: []string{"--save", "60 1000"}, warning: "snapshots"},
	} {
		t.Run(fmt.Sprint(c.args), func(t *testing.T) {
			t.Parallel()
			p := start(t, c.args...)
			if c.refusal != "" {
				refused(t, p.url(), false, c.refusal)
				return
			}
			s := open(t, p.url(), newPrefix())
			got := strings.Join(s.Warnings(), "\n")
			if (got == "") != (c.warning == "") || !strings.Contains(got, c.warning) {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
		})
	}
}

// TestOpenForbidden checks that CONFIG and INFO may be forbidden, as in managed
// services.
func TestOpenForbidden(t *testing.T) {
	t.Parallel()
	p := start(t)
	for name, c := range map[string]struct {
		rights   []any
		warnings int
	}{"config": {[]any{"-config"}, 1}, "both": {[]any{"-config", "-info"}, 3}} {
		rights := append([]any{"acl", "setuser", name, "on", ">" + secret, "~{test-*", "+@all"}, c.rights...)
		p.admin(rights...)
		s := open(t, "redis://"+name+":"+secret+"@"+p.addr(), newPrefix())
		if len(s.Warnings()) != c.warnings {
			t.Errorf("%s: warnings %q", name, s.Warnings())
		}
	}
	p.admin("acl", "setuser", "none", "on", ">"+secret, "~other:*", "+@all")
	refused(t, "redis://none:"+secret+"@"+p.addr(), false, "lacks permissions")
}

// TestOpenReplica checks that a replica is refused until it is promoted.
func TestOpenReplica(t *testing.T) {
	t.Parallel()
	primary := start(t)
	p := start(t, "--replicaof", "127.0.0.1 "+primary.port)
	refused(t, p.url(), true, "address of the primary")
	p.admin("replicaof", "no", "one")
	open(t, p.url(), newPrefix())
}

func TestWarningsOfUnknownServer(t *testing.T) {
	t.Parallel()
	s := open(t, miniURL(t), newPrefix()) // it has neither CONFIG nor a version
	if got := s.Warnings(); len(got) != 3 || !slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "version") }) {
		t.Errorf("warnings %q", got)
	}
}

// TestOpenTLS checks that Unreachable is false for an untrusted certificate.
func TestOpenTLS(t *testing.T) {
	t.Parallel()
	m := miniredis.NewMiniRedis()
	if err := m.StartTLS(&tls.Config{Certificates: []tls.Certificate{certificate(t)}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	refused(t, "rediss://:"+secret+"@"+m.Addr(), false, "TLS failed", "certificate")
	// A server that hangs up looks like one that is starting.
	refused(t, "redis://:"+secret+"@"+m.Addr(), true, "rediss:// or redis://")
	plain := miniredis.RunT(t)
	refused(t, "rediss://:"+secret+"@"+plain.Addr(), true, "rediss:// or redis://")
	open(t, "redis://"+plain.Addr(), newPrefix())
}

// certificate returns a certificate from an unknown authority.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.TLS.Certificates[0]
}
