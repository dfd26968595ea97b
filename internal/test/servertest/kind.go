package servertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// probeTimeout limits the first answer of a shared server.
const probeTimeout = time.Minute

// A kind is one kind of shared server. The four kinds are package variables so that
// each process looks for a server once, not once per test.
type kind struct {
	name     string   // spelled as its makers do
	variable string   // environment variable that names the server
	port     string   // the default port
	fallback []string // URLs to try if the variable is not set
	ping     func(ctx context.Context, server string) error

	once    sync.Once
	url     string // of the server that answers; empty if none does
	err     error  // set if the named server does not let tests in
	refusal error  // of a server on the default port that does not let tests in
}

// server returns the URL of the shared server. It skips the test if there is none,
// and fails it if the variable names a server that does not answer.
func (k *kind) server(t testing.TB) string {
	t.Helper()
	NotShort(t)
	server, err := k.find()
	if err != nil {
		t.Fatal(err)
	}
	if server == "" {
		t.Skip(k.lack())
	}
	return server
}

// lack returns why there is no server, and how to get one.
func (k *kind) lack() string {
	if k.refusal != nil {
		return fmt.Sprintf("the %s on 127.0.0.1:%s lets no tests in: %v", k.name, k.port, k.refusal)
	}
	return fmt.Sprintf("no %s: set %s or start one on 127.0.0.1:%s", k.name, k.variable, k.port)
}

// setUp returns the requirements for a server that tests can use.
func (k *kind) setUp() string {
	return fmt.Sprintf(`set %s to a URL whose user may create and drop databases, or stop it and run eval "$(.ci/servers)"`, k.variable)
}

// find probes for the server once per process.
func (k *kind) find() (string, error) {
	k.once.Do(func() {
		if server := os.Getenv(k.variable); server != "" {
			if k.url, k.err = server, k.probe(server); k.err != nil {
				k.err = fmt.Errorf("%s: %w", k.variable, k.err)
			}
			return
		}
		for _, server := range k.fallback {
			err := k.probe(server)
			if err == nil {
				k.url, k.refusal = server, nil
				return
			}
			if k.refusal == nil && !errors.Is(err, errNotListening) {
				k.refusal = err
			}
		}
	})
	return k.url, k.err
}

func (k *kind) probe(server string) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	err := k.ping(ctx, server)
	switch {
	case err == nil:
		return nil
	case notListening(err):
		return fmt.Errorf("%s %w: %w", k.name, errNotListening, discreet(server, err))
	}
	return fmt.Errorf("%w; %s", discreet(server, err), k.setUp())
}

var errNotListening = errors.New("does not answer")

// notListening reports whether the error means an unreachable server, not a refusal.
func notListening(err error) bool {
	var timeout net.Error
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// discreet replaces an error that repeats the URL or its password. Drivers return
// such errors for URLs that they cannot parse.
func discreet(server string, err error) error {
	u, parseErr := url.Parse(server)
	if parseErr != nil {
		return errURL
	}
	password, _ := u.User.Password()
	said := err.Error()
	if strings.Contains(said, server) || password != "" && strings.Contains(said, password) {
		return errURL
	}
	return err
}

// errURL gives no details because the URL contains a password.
var errURL = errors.New("the URL cannot be used")

// Missing returns why a store (postgres, mysql, mongodb, redis) has no shared server.
// It returns "" if there is one or the store needs none.
func Missing(store string) string {
	k := map[string]*kind{"postgres": postgres.kind, "mysql": mysqlServer.kind, "redis": &redisKind, "mongodb": mongoKind()}[store]
	if k == nil {
		return ""
	}
	server, err := k.find()
	switch {
	case err != nil:
		return err.Error()
	case server == "":
		return k.lack()
	}
	return ""
}

// mongoKind returns the kind of the first server in MongoDBs.
func mongoKind() *kind {
	for _, s := range []*mongoServer{realMongo, ferretMongo} {
		if os.Getenv(s.variable) != "" {
			return &s.kind
		}
	}
	return &anyMongo.kind
}
