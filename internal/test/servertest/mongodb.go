package servertest

import (
	"context"
	"os"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A mongoServer is a shared server that speaks the MongoDB protocol.
type mongoServer struct {
	kind
	swept sync.Once
}

// FerretDB stands in for MongoDB. The last server is used if no variable is set: it
// is the server on the default port, of either kind.
var (
	realMongo   = &mongoServer{kind: kind{name: "MongoDB", variable: "AUTHSVC_TEST_MONGODB_URL", port: "27017", ping: pingMongoDB}}
	ferretMongo = &mongoServer{kind: kind{name: "FerretDB", variable: "AUTHSVC_TEST_FERRETDB_URL", port: "27017", ping: pingMongoDB}}
	anyMongo    = &mongoServer{kind: kind{name: "MongoDB", variable: "AUTHSVC_TEST_MONGODB_URL or AUTHSVC_TEST_FERRETDB_URL", port: "27017", ping: pingMongoDB,
		fallback: []string{"mongodb://127.0.0.1:27017/"}}}
)

// A Named is one of the servers that a test runs against.
type Named struct {
	Name string                    // "MongoDB" or "FerretDB"
	New  func(t testing.TB) string // works like the function MongoDB, on this server
}

// MongoDBs returns the available servers: those named by the two variables, or else
// the server on the default port. If there is none, New of the only element skips the
// test.
func MongoDBs() []Named {
	var found []Named
	for _, s := range []*mongoServer{realMongo, ferretMongo} {
		if os.Getenv(s.variable) != "" {
			found = append(found, Named{s.name, s.database})
		}
	}
	if found == nil {
		found = []Named{{anyMongo.name, anyMongo.database}}
	}
	return found
}

// MongoDB returns the URL of a fresh, empty database, dropped when t ends. It uses
// the server of AUTHSVC_TEST_MONGODB_URL, then AUTHSVC_TEST_FERRETDB_URL, then the
// one on the default port. If there is none, it skips t.
func MongoDB(t testing.TB) string {
	t.Helper()
	return MongoDBs()[0].New(t)
}

// database creates nothing: the server creates the database at the first write.
func (s *mongoServer) database(t testing.TB) string {
	t.Helper()
	server := s.server(t)
	s.swept.Do(func() { sweepMongoDB(t, server) })
	name := newName()
	database, err := withDatabase(server, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dropMongoDB(server, name); err != nil {
			t.Errorf("%s: drop a database: %v", s.name, err)
		}
	})
	return database
}

// pingMongoDB runs a command that needs a login if the server requires one. A plain
// ping succeeds without a login.
func pingMongoDB(ctx context.Context, server string) error {
	_, err := mongoCommand(ctx, server, "admin", bson.D{{Key: "find", Value: "authsvc_probe"}, {Key: "limit", Value: 1}})
	return err
}

func dropMongoDB(server, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	_, err := mongoCommand(ctx, server, name, bson.D{{Key: "dropDatabase", Value: 1}})
	return err
}

// sweepMongoDB drops the databases of processes that died before their cleanup.
func sweepMongoDB(t testing.TB, server string) {
	t.Helper()
	names, err := mongoDatabases(server)
	if err != nil {
		t.Fatalf("MongoDB: list the databases: %v", err)
	}
	for _, name := range names {
		if orphan(name) {
			_ = dropMongoDB(server, name)
		}
	}
}

func mongoDatabases(server string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	answer, err := mongoCommand(ctx, server, "admin", bson.D{{Key: "listDatabases", Value: 1}, {Key: "nameOnly", Value: true}})
	if err != nil {
		return nil, err
	}
	var list struct{ Databases []struct{ Name string } }
	if err := bson.Unmarshal(answer, &list); err != nil {
		return nil, err
	}
	for _, database := range list.Databases {
		names = append(names, database.Name)
	}
	return names, nil
}
