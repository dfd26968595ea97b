// Package mongodb keeps the records of authsvc in a MongoDB database. It can share the
// database with a NextAuth.js application that uses the MongoDB adapter.
//
// Users, accounts, sessions and verification tokens are stored as that adapter stores
// them. Data that only authsvc needs is in separate collections:
//
//	authsvc_session    _id: digest, session: _id of the session, epoch, expires, auth_time (the sign-in), proved_at, provider, claims, amr, second_at, seen, agent, network, client, actor; user: only for strategy jwt
//	authsvc_person     _id: the user's id, blocked, blocked_why, delete_after, second_step, recover_after, locale
//	authsvc_credential _id: kind and id, user, place, name, data, version, tries, created, used, expires, epoch
//	authsvc_mail       _id, slot, payload, due, expires, attempts
//	authsvc_once       _id: key, expires
//	authsvc_revocation _id: key, user, seq, accounts, pending, cursor, not_before, expires
//	authsvc_permit     _id: key, expires (milliseconds since 1970)
//	authsvc_lease      _id: name, holder, expires
//	authsvc_meta       _id: key, value; also the version of the schema, and the number of the latest revocation
//	authsvc_audit      _id, occurred, name, outcome, code, reason, provider, user, client, agent, request, actor
//
// No transactions are needed, so a standalone server is enough. A step that writes
// several documents writes them in a fixed order: until the last write, the earlier
// documents have no effect, because they are marked or refer to a user or session that
// does not exist. A single write of a number revokes access; see revocations.go.
//
// The package does rely on the server to change one document atomically, as MongoDB
// does. FerretDB 1 over SQLite does not. It is used for tests, behind a proxy that
// passes one command at a time.
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
	"authsvc/adapter"
)

// Options configures Open. The zero value uses the names of NextAuth.js's adapter and
// does not migrate.
type Options struct {
	Naming Naming
	// Migrate brings the schema, which consists of indexes, up to date at Open.
	Migrate bool
	// Shares means that the shared collections should be those of another program, as in
	// the compat modes. If collections that look like them exist, Migrate refuses to
	// create them.
	Shares bool
}

// A Store is an [adapter.Adapter] backed by one database. Any number of processes may
// share the database. Writes are acknowledged by a majority of the replica set; reads
// go to its primary.
type Store struct {
	client  *mongo.Client
	db      *mongo.Database
	timeout time.Duration // limit of one call
	names   names
	naming  Naming           // gives names
	shares  bool             // see Options
	columns []string         // names in User.Extra
	now     func() time.Time // used only to judge what a crash left behind

	usable  atomic.Bool // the schema has been checked
	orphans orphanScan
}

var (
	_ adapter.Adapter  = (*Store)(nil)
	_ authsvc.AuditLog = (*Store)(nil)
	_ adapter.Clock    = (*Store)(nil)
)

// Open connects to the database named in the URL's path:
// mongodb://user:password@host/database or mongodb+srv://…. If no server answers within
// 5 s, it returns an error for which [Unreachable] is true. Each call has the same
// limit, unless the URL sets timeoutMS. Open refuses a schema that is newer than this
// build knows.
func Open(ctx context.Context, url string, o Options) (_ *Store, err error) {
	names, err := resolve(o.Naming)
	if err != nil {
		return nil, fmt.Errorf("mongodb: %w", err)
	}
	client, database, limit, err := connect(url)
	if err != nil {
		return nil, fmt.Errorf("mongodb: %w", err)
	}
	s := &Store{client: client, db: client.Database(database), timeout: limit, names: names, naming: o.Naming, shares: o.Shares, columns: o.Naming.UserColumns, now: time.Now}
	defer func() {
		if err != nil {
			s.Close() //nolint:errcheck // the first error says more
		}
	}()
	if err := retry(ctx, outcomeUnknown, func() error { return client.Ping(ctx, readpref.Primary()) }); err != nil {
		return nil, explain(database, fmt.Errorf("mongodb: %w", withContextError(ctx, err)))
	}
	if err := s.prepareSchema(ctx, o.Migrate); err != nil {
		return nil, explain(database, withContextError(ctx, err))
	}
	return s, nil
}

// Close waits up to 5 s for commands in flight, then closes all connections.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := s.client.Disconnect(ctx); err != nil {
		return fmt.Errorf("mongodb: close: %w", err)
	}
	return nil
}

// Ping implements [adapter.Adapter]. It fails if the primary does not answer or the
// schema is older than this build needs.
func (s *Store) Ping(ctx context.Context) error {
	err := s.client.Ping(ctx, readpref.Primary())
	if err == nil {
		err = s.checkVersion(ctx)
	}
	return contractError(ctx, "ping", err)
}

// Now implements [adapter.Clock].
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.do(ctx, "now", func(ctx context.Context) error {
		raw, err := s.db.RunCommand(ctx, by("hello", 1)).Raw()
		if now = (document{raw}).instant("localTime"); err == nil && now.IsZero() {
			err = errors.New("the server does not report its time")
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

// do runs one method of the contract within the time limit of a call. op names the
// method in errors.
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

// first returns one document, or ErrNotFound if there is none.
func (s *Store) first(ctx context.Context, c *mongo.Collection, filter bson.D) (d document, err error) {
	err = retry(ctx, outcomeUnknown, func() error {
		raw, err := c.FindOne(ctx, filter).Raw()
		d = document{raw}
		return err
	})
	if errors.Is(err, mongo.ErrNoDocuments) || errors.Is(err, errText) { // such text cannot be stored
		err = adapter.ErrNotFound
	}
	return d, err
}
