package postgres

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/seal"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

// trips counts the round trips of prepared statements.
type trips struct{ n atomic.Int32 }

func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (*trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (*trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// counted opens the database of a store again, and counts its round trips.
func counted(t *testing.T, s shared) (*sqladapter.Adapter, *trips) {
	t.Helper()
	at, err := parse(with(s.location, "pool_max_conns=4"))
	if err != nil {
		t.Fatal(err)
	}
	c := &trips{}
	at.config.Tracer = c
	pool, err := at.newPool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	a, err := sqladapter.New(pgxDatabase{pool}, pgxDatabase{pool}, dialect(), Naming{}, sqladapter.Traits{})
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

// TestRoundTrips checks that steps wait for the server as rarely as their data allows.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	a, c := counted(t, newShared(t, Options{}, sqladapter.TestHooks{}))
	now := time.Now()
	mail := func(id string) adapter.Mail {
		return adapter.Mail{ID: id, Payload: []byte("p"), Due: now, Expires: now.Add(time.Hour)}
	}
	for _, step := range []struct {
		name  string
		trips int32
		do    func(id string) error
	}{
		{"sign up", 1, func(id string) error { return sqltest.SignUp(t.Context(), pinged{a}, id) }},
		{"sign up under a UUID", 1, func(id string) error { // no earlier user had it
			s := adapter.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: now.Add(time.Hour)}
			_, err := a.SignUp(t.Context(), adapter.User{ID: seal.UUIDv7()}, nil, &s, "de", sqltest.Ended(""))
			return err
		}},
		{"put token", 1, func(id string) error {
			return a.PutToken(t.Context(), adapter.VerificationToken{Identifier: id, Token: id, Expires: now.Add(time.Hour)}, mail(id), 1000)
		}},
		{"void tokens", 1, func(id string) error { return a.VoidTokens(t.Context(), id) }},
		{"put audit", 1, func(id string) error {
			return a.PutAudit(t.Context(), []authsvc.AuditRecord{{ID: id + "1", AuditEvent: authsvc.AuditEvent{Time: now}}, {ID: id + "2", AuditEvent: authsvc.AuditEvent{Time: now}}})
		}},
		{"permit", 1, func(id string) error {
			_, _, err := a.Permit(t.Context(), now, adapter.Quota{Key: id + "1", Interval: time.Minute}, adapter.Quota{Key: id + "2", Interval: time.Minute})
			return err
		}},
		{"refresh account", 1, func(string) error {
			return a.RefreshAccount(t.Context(), adapter.Account{UserID: "sign up first", Provider: "p", ProviderAccountID: "sign up first"}, 0)
		}},
		{"create session", 1, func(id string) error {
			_, err := a.CreateSession(t.Context(), adapter.SessionRecord{ID: id, UserID: "sign up first", SessionToken: id, Digest: id, Expires: now.Add(time.Hour), Began: now})
			return err
		}},
	} {
		if err := step.do(step.name + " first"); err != nil { // prepares its statements
			t.Fatalf("%s: %v", step.name, err)
		}
		before := c.n.Load()
		if err := step.do(step.name + " then"); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := c.n.Load() - before; got != step.trips {
			t.Errorf("%s: %d round trips, want %d", step.name, got, step.trips)
		}
	}
}

// A pinged adapter has the methods that only a [Store] adds.
type pinged struct{ *sqladapter.Adapter }

func (pinged) Ping(context.Context) error { return nil }

// TestRefusedInPipeline checks that a statement that the server refuses undoes the
// statements sent with it, reports the cause, and leaves the connection usable.
func TestRefusedInPipeline(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	if err := sqltest.SignUp(t.Context(), s, "ann"); err != nil {
		t.Fatal(err)
	}
	connections := s.pool.Stat().NewConnsCount()
	rec := adapter.SessionRecord{ID: "b", SessionToken: "ann", Digest: "b", Expires: time.Now().Add(time.Hour), Began: time.Now()}
	if _, err := s.SignUp(t.Context(), adapter.User{ID: "bob", Email: "bob@example.com"}, nil, &rec, "", nil); !errors.Is(err, adapter.ErrConflict) {
		t.Errorf("with another session's token: %v", err)
	}
	if _, err := s.GetUser(t.Context(), "bob"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("the user that was sent earlier in the transaction: %v", err)
	}
	rec.SessionToken = "bob"
	if _, err := s.SignUp(t.Context(), adapter.User{ID: "bob", Email: "bob@example.com"}, nil, &rec, "", nil); err != nil {
		t.Error(err)
	}
	if made := s.pool.Stat().NewConnsCount() - connections; made != 0 {
		t.Errorf("%d new connections were opened", made)
	}
}

// TestTransactionOfNothing checks that a transaction that is rolled back at once sends
// nothing.
func TestTransactionOfNothing(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	tx, err := pgxDatabase{s.pool}.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := tx.Commit(t.Context()); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("commit after the end: %v", err)
	}
	if n := s.pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections were not returned to the pool", n)
	}
}
