// Package reader tells a program who is signed in at an authsvc that runs
// elsewhere, by its cookies: it shares the secret, and the store if there is one.
// It has no routes, no providers and no pages, and never writes.
//
// The program has to get the cookies, so it is on the host of the service, or
// below the domain of its cookies (Config.Cookies.Domain).
package reader

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"authsvc"
	"authsvc/engine"
)

// Config says whose sessions to read: all of it as the service has it.
type Config struct {
	// URL is the public address of the service.
	URL string
	// Secrets are those of the service.
	Secrets []string
	// Compat is the mode of the service.
	Compat authsvc.Compat
	// Adapter is the service's store. Nil, for strategy jwt only: tokens are
	// believed until they expire, although the person has signed out meanwhile.
	Adapter authsvc.Adapter
	// Session is as at the service. Claims and Expose may be left out; Expose
	// is for the JSON of sessions.
	Session authsvc.SessionOptions
	// Cookies are as at the service.
	Cookies authsvc.CookieOptions
	// StaleRevocations: "refuse" (default) is an error of Read while the
	// revocations of JWT sessions are not known, "accept" goes on.
	StaleRevocations authsvc.StaleRevocations
	// DangerousInsecureURL and DangerousShortSecret are as at the service.
	DangerousInsecureURL bool
	DangerousShortSecret bool
	// Logger gets failures to read the store. Nil: slog.Default().
	Logger *slog.Logger
}

// A Reader reads sessions. It is safe for concurrent use.
type Reader struct{ operator *engine.Operator }

// openTime is how long New waits for the store.
const openTime = 15 * time.Second

// New checks c, and that the store was used with the same mode. With a store and
// strategy jwt it begins to read what was revoked, every two seconds, until
// Close. The error has all mistakes; see [authsvc.ConfigErrors].
func New(c Config) (*Reader, error) {
	operator, err := engine.NewOperator(authsvc.Config{
		URL: c.URL, Secrets: c.Secrets, Compat: c.Compat, Adapter: c.Adapter, Session: c.Session, Cookies: c.Cookies,
		StaleRevocations: c.StaleRevocations, DangerousInsecureURL: c.DangerousInsecureURL, DangerousShortSecret: c.DangerousShortSecret,
		Logger: c.Logger,
		// The engine wants one way in. This one is on no route, and leads nowhere.
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

// Read returns who is signed in, nil if nobody is. An error means that it could
// not be found out: answer 503, and let nobody in. It renews nothing, so a person
// who never comes to the service itself is signed out when the session ends.
func (r *Reader) Read(q *http.Request) (*authsvc.Session, error) { return r.operator.Session(q) }

// Ready reports why sessions cannot be read now; nil: they can.
func (r *Reader) Ready(ctx context.Context) error { return r.operator.Ready(ctx) }

// Close ends the reading of the store. The adapter stays open.
func (r *Reader) Close(ctx context.Context) error { return r.operator.Close(ctx) }
