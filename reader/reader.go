// Package reader tells a program who is signed in at an authsvc in another process. It
// reads the service's cookies with the same secret, and the same store if there is one.
// It has no routes, providers or pages, and never writes.
//
// The program must receive the cookies: it must have the host name of the service, or
// one below the domain of its cookies (Config.Cookies.Domain).
package reader

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
)

// Config says whose sessions to read. Every field must match the service, except
// StaleRevocations, Logger, and Claims and Expose of Session.
type Config struct {
	// URL is the public address of the service.
	URL string
	// Secrets are the service's secrets.
	Secrets []string
	// Compat is the service's compat mode.
	Compat authsvc.Compat
	// Adapter is the service's store. It may be nil with strategy jwt: a token is then
	// valid until it expires, even if the user has signed out.
	Adapter adapter.Adapter
	// Session is the same as in the service. Claims and Expose may be left out; Expose
	// only affects the JSON of sessions.
	Session authsvc.SessionOptions
	// Cookies is the same as in the service.
	Cookies authsvc.CookieOptions
	// StaleRevocations says what Read does while the revocations of JWT sessions are
	// unknown: "refuse" (default) returns an error, "accept" continues without them.
	StaleRevocations authsvc.StaleRevocations
	// DangerousInsecureURL and DangerousShortSecret are the same as in the service.
	DangerousInsecureURL bool
	DangerousShortSecret bool
	// Logger gets failures to read the store. Nil: slog.Default().
	Logger *slog.Logger
}

// A Reader reads sessions. It is safe for concurrent use.
type Reader struct{ operator *engine.Operator }

// openTime is how long New waits for the store.
const openTime = 15 * time.Second

// New checks c, and that the store was used with the same compat mode. With a store and
// strategy jwt it also reads revocations every two seconds until Close. The error lists
// all mistakes; see [authsvc.ConfigErrors].
func New(c Config) (*Reader, error) {
	operator, err := engine.NewOperator(authsvc.Config{
		URL: c.URL, Secrets: c.Secrets, Compat: c.Compat, Adapter: c.Adapter, Session: c.Session, Cookies: c.Cookies,
		StaleRevocations: c.StaleRevocations, DangerousInsecureURL: c.DangerousInsecureURL, DangerousShortSecret: c.DangerousShortSecret,
		Logger: c.Logger,
		// The engine needs a provider. This one has no route and refuses everyone.
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: nobody}},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	if err := operator.Follow(ctx); err != nil {
		return nil, err
	}
	return &Reader{operator}, nil
}

func nobody(context.Context, map[string]string) (authsvc.User, error) {
	return authsvc.User{}, authsvc.ErrAccessDenied
}

// Read returns the session of a request, nil if the user is not signed in. An error
// means that the session could not be read: answer 503 and let no one in. Read renews
// nothing: a session that is used only here expires.
func (r *Reader) Read(q *http.Request) (*authsvc.Session, error) { return r.operator.Session(q) }

// Ready returns an error if sessions cannot be read now.
func (r *Reader) Ready(ctx context.Context) error { return r.operator.Ready(ctx) }

// Close stops reading the store. The adapter stays open.
func (r *Reader) Close(ctx context.Context) error { return r.operator.Close(ctx) }
