// Package mongodb keeps the records of authsvc in a MongoDB database, which it
// can share with a NextAuth.js application that uses the MongoDB adapter.
//
// Users, accounts, sessions and verification tokens are documents as that
// adapter writes them. What only authsvc needs is in its own collections:
//
//	authsvc_session    _id: digest, session: _id of the session, epoch, expires, auth_time (the sign-in), proved_at, provider, claims, amr, second_at, seen, agent, network, client, actor; user: of one of strategy jwt
//	authsvc_person     _id: of the user, blocked, blocked_why, delete_after, second_step, recover_after, locale
//	authsvc_credential _id: kind and id, user, place, name, data, version, tries, created, used, expires, epoch
//	authsvc_mail       _id, slot, payload, due, expires, attempts
//	authsvc_once       _id: key, expires
//	authsvc_revocation _id: key, user, seq, accounts, pending, cursor, not_before, expires
//	authsvc_permit     _id: key, expires (milliseconds since 1970)
//	authsvc_lease      _id: name, holder, expires
//	authsvc_meta       _id: key, value; also the version of the schema, and the number of the latest revocation
//	authsvc_audit      _id, occurred, name, outcome, code, reason, provider, user, client, agent, request, actor
//
// Nothing needs a transaction, so a standalone server will do. Each step of
// several documents is ordered: until its last write, what it has written
// refers to a user or a session that does not exist, or is marked, and means
// nothing. Access is taken back by a number, in one write; see revocations.go.
//
// What does rely on the server is that it changes one document atomically, as
// MongoDB does. FerretDB 1 over SQLite does not: it serves for tests, with
// something in front of it that lets one command through at a time.
package mongodb

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"authsvc"
)

// Options of Open. The zero value uses the names of NextAuth.js's adapter and
// does not migrate.
type Options struct {
	Naming Naming
	// Migrate brings the schema, which is indexes, up to date at Open.
	Migrate bool
}

// A Store is an [authsvc.Adapter] over one database. Any number of processes
// may share the database. Writes are acknowledged by a majority of a replica
// set; reads ask its primary.
type Store struct {
	client  *mongo.Client
	db      *mongo.Database
	timeout time.Duration // of one call
	names   names
	columns []string         // of User.Extra
	now     func() time.Time // judges only what a crash left behind

	usable  atomic.Bool // the schema was found good
	orphans orphanScan
}

var (
	_ authsvc.Adapter  = (*Store)(nil)
	_ authsvc.AuditLog = (*Store)(nil)
	_ authsvc.Clock    = (*Store)(nil)
)

// Open connects to the database that the URL's path names:
// mongodb://user:password@host/database or mongodb+srv://…. A server that does
// not answer within 5 s is an error for which [Unreachable] holds; a call may
// take as long, or what timeoutMS of the URL says. A schema that is newer than
// this build knows is refused.
func Open(ctx context.Context, url string, o Options) (_ *Store, err error) {
	names, err := resolve(o.Naming)
	if err != nil {
		return nil, fmt.Errorf("mongodb: %w", err)
	}
	client, database, limit, err := connect(url)
	if err != nil {
		return nil, fmt.Errorf("mongodb: %w", err)
	}
	s := &Store{client: client, db: client.Database(database), timeout: limit, names: names, columns: o.Naming.UserColumns, now: time.Now}
	defer func() {
		if err != nil {
			s.Close() //nolint:errcheck // the first error says more
		}
	}()
	if err := retry(ctx, outcomeUnknown, func() error { return client.Ping(ctx, readpref.Primary()) }); err != nil {
		return nil, fmt.Errorf("mongodb: %w", withContextError(ctx, err))
	}
	if err := s.prepareSchema(ctx, o.Migrate); err != nil {
		return nil, withContextError(ctx, err)
	}
	return s, nil
}

// Close ends all connections. Calls in flight fail.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := s.client.Disconnect(ctx); err != nil {
		return fmt.Errorf("mongodb: close: %w", err)
	}
	return nil
}

// Ping implements [authsvc.Adapter]: the primary answers and the schema is not
// older than this build needs.
func (s *Store) Ping(ctx context.Context) error {
	err := s.client.Ping(ctx, readpref.Primary())
	if err == nil {
		err = s.checkVersion(ctx)
	}
	return contractError(ctx, "ping", err)
}

// Now implements [authsvc.Clock].
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.do(ctx, "now", func(ctx context.Context) error {
		raw, err := s.db.RunCommand(ctx, by("hello", 1)).Raw()
		if now = (document{raw}).instant("localTime"); err == nil && now.IsZero() {
			err = errors.New("the server does not tell its time")
		}
		return err
	})
	return now, err
}

func (s *Store) users() *mongo.Collection    { return s.db.Collection(s.names.of("User")) }
func (s *Store) accounts() *mongo.Collection { return s.db.Collection(s.names.of("Account")) }
func (s *Store) sessions() *mongo.Collection { return s.db.Collection(s.names.of("Session")) }
func (s *Store) links() *mongo.Collection    { return s.db.Collection(s.names.of("VerificationToken")) }

func (s *Store) ownSessions() *mongo.Collection { return s.db.Collection("authsvc_session") }
func (s *Store) people() *mongo.Collection      { return s.db.Collection("authsvc_person") }
func (s *Store) credentials() *mongo.Collection { return s.db.Collection("authsvc_credential") }
func (s *Store) mails() *mongo.Collection       { return s.db.Collection("authsvc_mail") }
func (s *Store) once() *mongo.Collection        { return s.db.Collection("authsvc_once") }
func (s *Store) revocations() *mongo.Collection { return s.db.Collection("authsvc_revocation") }
func (s *Store) permits() *mongo.Collection     { return s.db.Collection("authsvc_permit") }
func (s *Store) leases() *mongo.Collection      { return s.db.Collection("authsvc_lease") }
func (s *Store) meta() *mongo.Collection        { return s.db.Collection("authsvc_meta") }
func (s *Store) audit() *mongo.Collection       { return s.db.Collection("authsvc_audit") }

// do does one method of the contract, within the time that a call may take. op
// names it in errors.
func (s *Store) do(ctx context.Context, op string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := ctx.Err()
	if err == nil {
		err = s.check(ctx)
	}
	if err == nil {
		err = f(ctx)
	}
	return contractError(ctx, op, err)
}

// first returns one document. ErrNotFound: there is none.
func (s *Store) first(ctx context.Context, c *mongo.Collection, filter bson.D) (d document, err error) {
	err = retry(ctx, outcomeUnknown, func() error {
		raw, err := c.FindOne(ctx, filter).Raw()
		d = document{raw}
		return err
	})
	if errors.Is(err, mongo.ErrNoDocuments) || errors.Is(err, errText) { // such text cannot be stored
		err = authsvc.ErrNotFound
	}
	return d, err
}
