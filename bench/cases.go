package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Names of session cookies, without compat and with NextAuth.js 4.
const (
	sessionCookie = "authsvc.session"
	jweCookie     = "next-auth.session-token"
)

const secret = "a secret of forty characters for benches"

// A benchCase compares a route of the service, or a whole sign-in, with a floor.
type benchCase struct {
	name       string
	store      string // kind of store; "" for none
	floor      string
	path       string // path of the load, and of the floor's first answer
	operations int    // in a block of -check; 0: not checked
	promise    promise
	prepare    func(*bench, benchCase, *store) (*prepared, error)
}

// A prepared case has everything that the case needs to run.
type prepared struct {
	config string                                          // of the service
	runs   func(service, floor *server) ([2]loader, error) // load for each of the two servers
	// service and floor start the two servers. Nil: authsvc with the configuration,
	// and the floor of the case.
	service, floor func(context.Context) (*server, error)
	close          func() // nil: nothing to close
}

// A promise holds the limits that -check sets for a case, in addition to the
// comparison with the earlier binary; 0: no limit.
type promise struct {
	floor       float64 // highest ratio of the service's processor time to the floor's
	idle, after float64 // highest anonymous memory in MiB before and after the load
}

// people is the number of users in a store. Each has five sessions.
const people = 200

const sessionPath = "/api/auth/session"

// cases returns the cases to measure. The operations of a block take some tenths of a
// second of processor time.
func cases() []benchCase {
	return slices.Concat([]benchCase{
		{name: "session, jwt", path: sessionPath, floor: "jwe", operations: 16_000, promise: promise{1.35, 6, 18}, prepare: prepareSession},
		{name: "csrf, with cookie", path: csrfPath, floor: "http", operations: 16_000, promise: promise{floor: 1.65}, prepare: prepareCSRF(true)},
		{name: "csrf, without cookie", path: csrfPath, floor: "http", operations: 16_000, promise: promise{floor: 1.9}, prepare: prepareCSRF(false)},
		{name: "session, SQLite", store: onSQLite, path: sessionPath, floor: "sqlite", operations: 10_000, promise: promise{1.35, 10, 26}, prepare: prepareSession},
		{name: "session, PostgreSQL on the same core", store: onPostgres, path: sessionPath, floor: "postgres", operations: 4000, promise: promise{floor: 1.6}, prepare: prepareSession},
		{name: "session, Redis on the same core", store: onRedis, path: sessionPath, floor: "redis", operations: 8000, promise: promise{floor: 1.8}, prepare: prepareSession},
		{name: "sign-in by email, SQLite", store: onSQLite, path: csrfPath, floor: "signin-sqlite", operations: 400, promise: promise{floor: 2.6}, prepare: prepareEmail},
		{name: "sign-in by OpenID Connect, SQLite", store: onSQLite, path: csrfPath, floor: "signin-sqlite", operations: 500, promise: promise{floor: 1.7}, prepare: prepareOIDC},
		{name: "sign-in by email, PostgreSQL on the same core", store: onPostgres, path: csrfPath, floor: "signin-postgres", operations: 250, promise: promise{floor: 2.6}, prepare: prepareEmail},
		{name: "sign-in by OpenID Connect, PostgreSQL on the same core", store: onPostgres, path: csrfPath, floor: "signin-postgres", operations: 300, promise: promise{floor: 2.1}, prepare: prepareOIDC},
	}, shownCases(), gateCases())
}

const csrfPath = "/api/auth/csrf"

const jwtConfig = "compat: next-auth-v4\nsession: {strategy: jwt}\nstorage: {url: none}\n"

func databaseConfig(storage string) string {
	return fmt.Sprintf("session: {strategy: database}\nstorage: {url: %q}\n", storage)
}

// title returns the name without the route.
func (c *benchCase) title() string {
	_, store, _ := strings.Cut(c.name, ", ")
	return store
}

// sessionLoad returns the configuration and the load of a case that reads sessions.
func (b *bench) sessionLoad(c benchCase, s *store) (config string, l load, err error) {
	l = load{path: sessionPath, conns: b.conns, dir: b.dir}
	if c.store == "" {
		s.location = secret
		l.cookies, err = jweCookies(nil)
		return jwtConfig, l, err
	}
	l.cookies = s.cookies()
	return databaseConfig(s.url), l, nil
}

// prepareSession gives the service and the floor the same session requests. Both
// answer alike.
func prepareSession(b *bench, c benchCase, s *store) (*prepared, error) {
	config, l, err := b.sessionLoad(c, s)
	return &prepared{config: config, runs: func(service, floor *server) (runs [2]loader, err error) {
		return [2]loader{l, l}, sameAnswer(service, floor, l.path, l.cookies[0])
	}}, err
}

// prepareCSRF requests CSRF tokens, with or without the cookie of one.
func prepareCSRF(cookie bool) func(*bench, benchCase, *store) (*prepared, error) {
	return func(b *bench, _ benchCase, _ *store) (*prepared, error) {
		return &prepared{config: "storage: {url: none}\n", runs: func(service, _ *server) (runs [2]loader, err error) {
			l := load{path: csrfPath, conns: b.conns, dir: b.dir}
			if cookie {
				l.cookies, err = csrfCookies(service)
			}
			return [2]loader{l, l}, err
		}}, nil
	}
}

// jweCookies returns sessions sealed as by NextAuth.js 4, with more claims.
func jweCookies(more map[string]any) (list []string, err error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "NextAuth.js Generated Encryption Key", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	for i := range 100 {
		all := map[string]any{
			"name": fmt.Sprintf("Person %07d", i), "email": fmt.Sprintf("person%07d@mail.example", i),
			"picture": fmt.Sprintf("https://images.example/avatars/%07d.png", i), "sub": fmt.Sprintf("user-%d", i),
			"iat": now.Unix(), "exp": now.Add(30 * 24 * time.Hour).Unix(), "jti": rand.Text(),
		}
		maps.Copy(all, more)
		claims, err := json.Marshal(all)
		if err != nil {
			return nil, err
		}
		iv := make([]byte, gcm.NonceSize())
		rand.Read(iv)
		b64 := base64.RawURLEncoding
		header := b64.EncodeToString([]byte(`{"alg":"dir","enc":"A256GCM"}`))
		sealed := gcm.Seal(nil, iv, claims, []byte(header))
		text, tag := sealed[:len(sealed)-gcm.Overhead()], sealed[len(sealed)-gcm.Overhead():]
		list = append(list, jweCookie+"="+header+".."+b64.EncodeToString(iv)+"."+b64.EncodeToString(text)+"."+b64.EncodeToString(tag))
	}
	return list, nil
}

// csrfCookies returns a CSRF cookie issued by the service.
func csrfCookies(s *server) ([]string, error) {
	res, err := http.Get("http://" + s.addr + "/api/auth/csrf")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	for _, c := range res.Cookies() {
		if strings.Contains(c.Name, "csrf") {
			return []string{c.Name + "=" + c.Value}, nil
		}
	}
	return nil, errors.New("GET csrf set no cookie")
}
