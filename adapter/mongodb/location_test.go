package mongodb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"authsvc/adapter"
	"authsvc/internal/test/quiet"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"postgres://h/d":            "must begin with mongodb://",
		"h/d":                       "must begin with",
		"mongodb://h":               "names no database",
		"mongodb://h/":              "names no database",
		"mongodb://h/?replicaSet=r": "names no database",
		"mongodb://h/a.b":           "not the name of a database",
		"mongodb://u:s3cret/pw@h/d": "percent-encoded",
		"mongodb://u:s3cret@pw@h/d": "unescaped @",
		"mongodb://u:s3cret%zz@h/d": "URL",
		"mongodb://u:s3cret@h/d?authMechanism=NONE":       "auth mechanism",
		"mongodb://u:s3cret@h/d?connectTimeoutMS=soon":    "connecttimeoutms",
		"mongodb://u:s3cret@/d":                           "host",
		"mongodb://u:s3cret@h:x/d":                        "port",
		"mongodb+srv://u:s3cret@h:27017/d":                "port",
		"mongodb://u:s3cret@h/d?tlsCertificateKeyFile=/x": "no such file",
		"mongodb://h/d?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:s3cret,X:s3cret": "",
	} {
		_, err := Open(t.Context(), location, Options{})
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%s: got %v, want %q", location, err, want)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error holds the password: %v", location, err)
		}
		if Unreachable(err) {
			t.Errorf("%s: passes by itself: %v", location, err)
		}
	}
}

func TestLimitOfACall(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]time.Duration{
		"mongodb://h/d":                callTimeout,
		"mongodb://h/d?timeoutMS=0":    callTimeout,
		"mongodb://h/d?timeoutMS=1500": 1500 * time.Millisecond,
	} {
		client, _, limit, err := connect(location)
		if err != nil {
			t.Fatal(err)
		}
		if limit != want {
			t.Errorf("%s: %s, want %s", location, limit, want)
		}
		if err := client.Disconnect(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestUnreachable checks that a call to a silent server soon fails with an error that
// Unreachable recognises.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	begin := time.Now()
	_, err = Open(t.Context(), "mongodb://u:s3cret@"+closed+"/d", Options{})
	if !Unreachable(err) || strings.Contains(err.Error(), "s3cret") || !strings.HasSuffix(err.Error(), ": the server cannot be reached: check that it runs, and hosts, ports and replicaSet in the URL") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > quiet.Limit(4*callTimeout) {
		t.Errorf("took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err = Open(ctx, "mongodb://"+closed+"/d", Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	if Unreachable(nil) || Unreachable(adapter.ErrNotFound) {
		t.Error("everything is unreachable")
	}
}

// TestWrongPassword checks that Unreachable is false for a wrong password.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	at, _ := location(t)
	at = strings.Replace(at, "://", "://u:s3cret@", 1)
	if _, err := Open(t.Context(), at, Options{}); err == nil || Unreachable(err) || strings.Contains(err.Error(), "s3cret") ||
		!strings.HasSuffix(err.Error(), ": the server refuses the user or the password of the URL: correct them, or name the database of the user by authSource") {
		t.Errorf("got %v", err)
	}
}

// TestAdvice checks that an error says what to do about its own cause.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string // "": the error is left as it is
	}{
		"permission":  {mongo.CommandError{Code: 13, Name: "Unauthorized"}, "grant it readWrite and dbAdmin on the database people"},
		"password":    {mongo.CommandError{Code: 18, Name: "AuthenticationFailed"}, "refuses the user or the password"},
		"secondary":   {mongo.CommandError{Code: 10107, Name: "NotWritablePrimary"}, "is not the primary"},
		"certificate": {selection(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}), "tlsCAFile"},
		"no TLS":      {selection(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}), "whether the server speaks TLS"},
		"alert":       {selection(fmt.Errorf("handshake: %w", tls.AlertError(40))), "whether the server speaks TLS"},
		"refused":     {selection(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), "check that it runs"},
		"other":       {errors.New("the tables differ"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := explain("people", fmt.Errorf("mongodb: %w", c.err))
			if said := strings.TrimPrefix(got.Error(), "mongodb: "+c.err.Error()); !strings.Contains(said, c.want) || (said == "") != (c.want == "") {
				t.Errorf("%v", got)
			}
		})
	}
}

// selection is the driver's error if no server can be used because of err.
func selection(err error) error {
	return topology.ServerSelectionError{Desc: description.Topology{Servers: []description.Server{{LastError: err}}}}
}

// TestBrokenConnection checks that a command is retried after a broken connection where
// that is safe.
func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	u, err := s.CreateUser(t.Context(), adapter.User{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []int{cutBefore, cutAfter} {
		s.proxy.failNth(1, how, false)
		if _, err := s.GetUser(t.Context(), u.ID); err != nil {
			t.Error(err)
		}
		s.proxy.failNth(1, how, false)
		if _, err := s.CreateUser(t.Context(), adapter.User{Email: email(string(rune('a' + how)))}, nil); err != nil {
			t.Error(err)
		}
		if len(s.proxy.commands()) < 2 {
			t.Errorf("it was not tried again: %v", s.proxy.commands())
		}
		// Here a retry is not safe: the lost answer may have been a success.
		s.proxy.failNth(1, how, false)
		if err := s.UseOnce(t.Context(), "k", time.Now()); err == nil || errors.Is(err, adapter.ErrConflict) || !Unreachable(err) {
			t.Errorf("got %v", err)
		}
	}
}

func TestNaming(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		naming Naming
		want   map[string]string
		err    string
	}{
		"default": {Naming{}, map[string]string{"User": "users", "VerificationToken": "verification_tokens", "User.id": "_id", "Account.userId": "userId"}, ""},
		"prisma":  {Naming{Preset: "prisma"}, map[string]string{"User": "User", "User.id": "_id", "Session.sessionToken": "sessionToken"}, ""},
		"renamed": {Naming{Tables: map[string]string{"User": "people"}, Columns: map[string]string{"User.image": "avatar", "User.id": "_id"}},
			map[string]string{"User": "people", "Account": "accounts", "User.image": "avatar"}, ""},
		"id":         {Naming{Columns: map[string]string{"User.id": "key"}}, nil, "always _id"},
		"path":       {Naming{Columns: map[string]string{"User.email": "contact.email"}}, nil, "cannot be called"},
		"operator":   {Naming{Columns: map[string]string{"User.email": "$where"}}, nil, "not a name"},
		"own field":  {Naming{Columns: map[string]string{"Account.scope": "authsvc_pending"}}, nil, "cannot be called"},
		"system":     {Naming{Tables: map[string]string{"User": "system.users"}}, nil, "not a name"},
		"collection": {Naming{Tables: map[string]string{"User": "authsvc_mail"}}, nil, "reserved"},
		"unknown":    {Naming{Tables: map[string]string{"Person": "people"}}, nil, "unknown table"},
	} {
		got, err := resolve(c.naming)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for logical, physical := range c.want {
			if got.of(logical) != physical {
				t.Errorf("%s: %s is called %q", name, logical, got.of(logical))
			}
		}
	}
}
