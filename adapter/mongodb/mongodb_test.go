package mongodb

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/test/servertest"
)

// server returns the URL of a test server, without a database. A server that is
// configured must answer.
func server(t testing.TB) string {
	t.Helper()
	servertest.NotShort(t)
	for _, name := range []string{"AUTHSVC_TEST_MONGODB_URL", "AUTHSVC_TEST_FERRETDB_URL"} {
		location := os.Getenv(name)
		if location == "" {
			continue
		}
		u, err := url.Parse(location)
		if err != nil {
			t.Fatalf("%s is not a URL", name)
		}
		if !answers(u.Host) {
			t.Fatalf("%s is set, but nothing answers at %s", name, u.Host)
		}
		return location
	}
	const standard = "127.0.0.1:27017"
	if !answers(standard) {
		t.Skip("no MongoDB or FerretDB: AUTHSVC_TEST_MONGODB_URL and AUTHSVC_TEST_FERRETDB_URL are not set, and nothing listens on " + standard)
	}
	return "mongodb://" + standard
}

func answers(host string) bool {
	c, err := net.DialTimeout("tcp", host, time.Minute)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// A shared store is open in a NextAuth.js application too.
type shared struct {
	*Store
	proxy    *faultProxy
	location string
	options  Options
}

// location returns the URL of a new database behind a faultProxy. The database is
// dropped at the end of the test.
func location(t testing.TB) (string, *faultProxy) {
	t.Helper()
	u, err := url.Parse(server(t))
	if err != nil {
		t.Fatal("the server's URL cannot be parsed")
	}
	g := newFaultProxy(t, u.Host)
	u.Host = g.listener.Addr().String()
	u.Path = fmt.Sprintf("/authsvc_test_%d_%s", time.Now().Unix(), strings.ToLower(rand.Text()[:10]))
	q := u.Query()
	q.Set("directConnection", "true")
	q.Set("serverMonitoringMode", "poll") // the proxy forwards one answer per request
	u.RawQuery = q.Encode()
	return u.String(), g
}

func newShared(t testing.TB, o Options) shared {
	t.Helper()
	at, g := location(t)
	at += "&timeoutMS=120000" // 64 callers may wait for one another
	s, err := Open(t.Context(), at, Options{Naming: o.Naming, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.failNth(0, 0, false)
		if err := s.db.Drop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return shared{s, g, at, o}
}

// Reopen implements [adaptertest.Reopener].
func (s shared) Reopen(t *testing.T) adapter.Adapter { return again(t, s.location, s.options) }

func again(t testing.TB, location string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ForeignSession implements [adaptertest.Foreign]. The session has its own kind of id.
func (s shared) ForeignSession(ctx context.Context, id, token, userID string, expires time.Time) error {
	user, err := s.user(ctx, userID)
	if err != nil {
		return err
	}
	_, err = s.sessions().InsertOne(ctx, bson.D{{Key: "_id", Value: id}, {Key: s.names.of("Session.sessionToken"), Value: token},
		{Key: s.names.of("Session.userId"), Value: user.key()}, {Key: s.names.of("Session.expires"), Value: expires}})
	return err
}

// ForeignSignOut implements [adaptertest.Foreign].
func (s shared) ForeignSignOut(ctx context.Context, token string) error {
	_, err := s.sessions().DeleteOne(ctx, s.token(token))
	return err
}

// parallelStores limits how many cases run at once: FerretDB keeps each database in its
// own file, and they share the machine.
var parallelStores = make(chan struct{}, 3)

func TestAdapter(t *testing.T) {
	t.Parallel()
	server(t)
	adaptertest.Run(t, func(t *testing.T) adapter.Adapter {
		parallelStores <- struct{}{}
		t.Cleanup(func() { <-parallelStores })
		return newShared(t, Options{})
	})
}

// TestRenamed checks that, with renamed collections and fields, records have exactly
// the renamed fields, and are read, changed and found by them.
func TestRenamed(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{Naming: Naming{
		Preset:  "snake",
		Tables:  map[string]string{"User": "the people"},
		Columns: map[string]string{"User.email": "mail?", "Session.sessionToken": "Token"},
	}})
	u := adapter.User{Name: "n", Email: "e", Image: "i"}
	acc := adapter.Account{Type: "t", Provider: "p", ProviderAccountID: "1", RefreshToken: "r", AccessToken: "a", ExpiresAt: 1,
		TokenType: "b", Scope: "s", IDToken: "i", SessionState: "x"}
	rec := testSession("s")
	u, err := s.SignUp(t.Context(), u, &acc, &rec, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutToken(t.Context(), adapter.VerificationToken{Identifier: "other", Token: "l", Expires: time.Now()}, adapter.Mail{ID: "l"}, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := s.UpdateUser(t.Context(), u.ID, adapter.UserUpdate{EmailVerified: &rec.Expires}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"the people":         "_id email_verified image mail? name",
		"accounts":           "_id access_token expires_at id_token provider provider_account_id refresh_token scope session_state token_type type user_id",
		"sessions":           "Token _id expires user_id",
		"verificationtokens": "_id expires identifier token",
	} {
		d, err := s.first(t.Context(), s.db.Collection(name), bson.D{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var fields []string
		elements, _ := d.Elements()
		for _, e := range elements {
			fields = append(fields, e.Key())
		}
		slices.Sort(fields)
		if got := strings.Join(fields, " "); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
	if got, err := s.GetUserByEmail(t.Context(), "e"); err != nil || got.ID != u.ID {
		t.Errorf("got %+v, %v", got, err)
	}
	if list, err := s.ListAccounts(t.Context(), u.ID); err != nil || len(list) != 1 || list[0] != acc {
		t.Errorf("got %+v, %v", list, err)
	}
	if got, _, err := s.GetSession(t.Context(), rec.SessionToken, rec.Digest); err != nil || !reflect.DeepEqual(got, rec) {
		t.Errorf("got %+v, %v", got, err)
	}
	if n, err := s.Sweep(t.Context(), rec.Expires.Add(time.Hour), 10); n != 3 || err != nil { // session, link, mail
		t.Errorf("swept %d, %v", n, err)
	}
}

func BenchmarkGetSession(b *testing.B) {
	s := newShared(b, Options{})
	const sessions = 100 // FerretDB reads all of them to find one
	for i := range sessions {
		id := fmt.Sprint(i)
		rec := adapter.SessionRecord{SessionToken: id, Digest: id, Expires: time.Now(), Began: time.Now(), Provider: "github"}
		if _, err := s.SignUp(b.Context(), adapter.User{Name: "Ann", Email: id + "@example.com"}, nil, &rec, "", nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprint(mathrand.IntN(sessions))
			if _, _, err := s.GetSession(b.Context(), id, id); err != nil {
				b.Error(err)
			}
		}
	})
}

// TestNow checks that Now returns the server's time.
func TestNow(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	now, err := s.Now(t.Context())
	if ago := time.Since(now); err != nil || ago.Abs() > time.Minute || now.Location() != time.UTC {
		t.Errorf("%v, %v", now, err) // the test server is on this machine, or its clock agrees
	}
}
