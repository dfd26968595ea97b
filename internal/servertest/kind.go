package servertest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// probeTimeout is how long a shared server may take to answer the first time.
const probeTimeout = 3 * time.Second

// A kind is one kind of shared server. The four are package variables because
// a server is looked for once per process, not once per test.
type kind struct {
	name     string   // as its makers write it
	variable string   // of the environment; names the server
	port     string   // its default one
	fallback []string // URLs that are tried when the variable is not set
	ping     func(ctx context.Context, server string) error

	once sync.Once
	url  string // of the server that answers; empty: there is none
	err  error  // the variable names a server that does not answer
}

// server returns the URL of the shared server. The test is skipped when there
// is none, and fails when the variable names one that does not answer.
func (k *kind) server(t testing.TB) string {
	t.Helper()
	server, err := k.find()
	if err != nil {
		t.Fatal(err)
	}
	if server == "" {
		t.Skipf("no %s: set %s or start one on 127.0.0.1:%s", k.name, k.variable, k.port)
	}
	return server
}

// find probes once per process.
func (k *kind) find() (string, error) {
	k.once.Do(func() {
		if server := os.Getenv(k.variable); server != "" {
			k.url, k.err = server, k.probe(server)
			return
		}
		for _, server := range k.fallback {
			if k.probe(server) == nil {
				k.url = server
				return
			}
		}
	})
	return k.url, k.err
}

func (k *kind) probe(server string) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	if err := k.ping(ctx, server); err != nil {
		return fmt.Errorf("%s: %s does not answer: %w", k.variable, k.name, discreet(server, err))
	}
	return nil
}

// discreet drops an error that repeats the URL or its password, as drivers do
// with one that they cannot parse.
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

// errURL says no more because the URL has a password.
var errURL = errors.New("the URL cannot be used")

// Missing says why there is no shared server of a store (postgres, mysql,
// mongodb, redis), "" if there is one or the store needs none.
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
		return fmt.Sprintf("no %s: set %s or start one on 127.0.0.1:%s", k.name, k.variable, k.port)
	}
	return ""
}

// mongoKind is that of the first of MongoDBs.
func mongoKind() *kind {
	for _, s := range []*mongoServer{realMongo, ferretMongo} {
		if os.Getenv(s.variable) != "" {
			return &s.kind
		}
	}
	return &anyMongo.kind
}
