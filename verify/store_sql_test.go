package verify

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/process"
)

// storeSQL opens the database of a storage.url a second time, or returns nil if it is
// not a SQL database.
func storeSQL(t testing.TB, storage string) *sql.DB {
	t.Helper()
	scheme, rest, _ := strings.Cut(storage, ":")
	var db *sql.DB
	var err error
	switch scheme {
	case "sqlite":
		db, err = sql.Open("sqlite", rest)
	case "postgres":
		db, err = sql.Open("pgx", storage)
	case "mysql":
		u, parseErr := url.Parse(storage)
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		db, err = sql.Open("mysql", u.User.String()+"@tcp("+u.Host+")"+u.Path)
	default:
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// storeQuoted quotes names as the database requires: with backticks in MySQL.
func storeQuoted(storage, statement string) string {
	if strings.HasPrefix(storage, "mysql:") {
		return strings.ReplaceAll(statement, `"`, "`")
	}
	return statement
}

// A storeRedirect redirects requests for another service to this one.
type storeRedirect struct{ to, from string }

// RoundTrip implements [http.RoundTripper].
func (s storeRedirect) RoundTrip(r *http.Request) (*http.Response, error) {
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.to)
	}
	return (&http.Transport{DialContext: dial, DisableKeepAlives: true}).RoundTrip(r)
}

// storeTwins creates two users whose records contain the letters a and b.
func storeTwins(t *T, s adapter.Adapter) {
	t.Helper()
	for _, x := range []string{"a", "b"} {
		a := authsvc.Account{ID: "account-" + x, Type: "oauth", Provider: "p", ProviderAccountID: "sub-" + x}
		rec := adapter.SessionRecord{ID: "session-" + x, SessionToken: "token-" + x, Digest: "digest-" + x, Expires: time.Now().Add(time.Hour)}
		if _, err := s.SignUp(t.Context(), authsvc.User{ID: "user-" + x, Email: x + "@app.test"}, &a, &rec, "", nil); err != nil {
			t.Fatal(err)
		}
		link := adapter.VerificationToken{Identifier: "i", Token: "link-" + x, Expires: time.Now().Add(time.Hour)}
		if err := s.PutToken(t.Context(), link, adapter.Mail{ID: "link-" + x, Due: time.Now(), Expires: link.Expires}, 100); err != nil {
			t.Fatal(err)
		}
	}
}

// storeUnique lists the unique values: table, column, value of b, value of a.
var storeUnique = [][4]string{
	{"User", "email", "b@app.test", "a@app.test"}, {"Account", "providerAccountId", "sub-b", "sub-a"},
	{"authsvc_session", "digest", "digest-b", "digest-a"}, {"Session", "sessionToken", "token-b", "token-a"},
	{"VerificationToken", "token", "link-b", "link-a"},
}

// store03 tries to make records equal without the adapter.
func store03(t *T) {
	t.Stores(func(t *T, kind stores.Kind) {
		if kind.Name == "memory" {
			return // no other process can reach it
		}
		env := kind.Env(t, t.TempDir())
		s := storeAt(t, env)
		storeTwins(t, s)
		storage, _ := storeURL(env)
		change := storeChanger(t, storage)
		if change == nil { // Redis: scripts are the only way to its records, so another process races instead
			storeOneWins(t, s, storeAt(t, env))
			return
		}
		for _, u := range storeUnique {
			if strings.HasPrefix(storage, "mongodb:") && u[0] == "authsvc_session" {
				continue // there, the digest is the _id, which is always unique
			}
			if err := change(u[0], u[1], u[2], u[3]); err == nil {
				t.Errorf("two rows of %s have the same %s", u[0], u[1])
			}
			if err := change(u[0], u[1], u[2], u[2]+"-other"); err != nil && u[0] != "Session" {
				t.Errorf("twin: %s.%s: %v", u[0], u[1], err)
			}
		}
	})
}

// storeChanger returns a function that sets a column, or nil if there is no such way.
func storeChanger(t *T, storage string) func(table, column, from, to string) error {
	t.Helper()
	if strings.HasPrefix(storage, "mongodb:") {
		return storeMongoChanger(t, storage)
	}
	db := storeSQL(t, storage)
	if db == nil {
		return nil
	}
	return func(table, column, from, to string) error {
		_, err := db.ExecContext(t.Context(), storeQuoted(storage, `UPDATE "`+table+`" SET "`+column+`" = '`+to+`' WHERE "`+column+`" = '`+from+`'`))
		return err
	}
}

func storeMongoChanger(t *T, storage string) func(table, column, from, to string) error {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(storage))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.WithoutCancel(t.Context())) })
	u, err := url.Parse(storage)
	if err != nil {
		t.Fatal(err)
	}
	return func(table, column, from, to string) error {
		table = map[string]string{"User": "users", "Account": "accounts", "Session": "sessions", "VerificationToken": "verification_tokens"}[table]
		if table == "" {
			t.Errorf("no collection for it")
		}
		r, err := client.Database(strings.TrimPrefix(u.Path, "/")).Collection(table).UpdateOne(t.Context(),
			bson.D{{Key: column, Value: from}}, bson.D{{Key: "$set", Value: bson.D{{Key: column, Value: to}}}})
		if err == nil && r.MatchedCount == 0 {
			t.Errorf("no %s has %s %s", table, column, from)
		}
		return err
	}
}

func storeOneWins(t *T, stores ...adapter.Adapter) {
	t.Helper()
	won := make(chan bool, crowd)
	together(crowd, func(i int) {
		a := authsvc.Account{ID: "x" + string(rune('A'+i)), Type: "oauth", Provider: "p", ProviderAccountID: "one"}
		_, err := stores[i%len(stores)].SignUp(t.Context(), authsvc.User{ID: "y" + string(rune('A'+i))}, &a, nil, "", nil)
		if err == nil {
			won <- true
		}
	})
	if len(won) != 1 {
		t.Errorf("%d have one identity", len(won))
	}
}

// store12 checks that a URL of another machine must either say how that machine is
// verified, or say that it is not.
func store12(t *T) {
	near := process.NewNeighbours(t)
	refused := map[string]string{
		"postgres://u:canary-pw@db.example.com/x?sslmode=prefer": "may connect without TLS",
		"mysql://u:canary-pw@db.example.com/x?tls=preferred":     "tls",
	}
	for storage, why := range refused {
		out := crashRefusal(t, process.Prepare(t, near.YAML(""), "AUTHSVC_STORAGE_URL="+storage))
		if !strings.Contains(out, why) || strings.Contains(out, "canary-pw") {
			t.Errorf("%s: %s", storage, out)
		}
	}
	t.Run("wrong certificate", func(t *T) { storeImpostor(t, near) })
}
