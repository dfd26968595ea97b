package servertest

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// prefix starts the name of every database created here.
const prefix = "authsvc_test_"

// orphanAge is the age at which a database cannot belong to a running test any more:
// its process died before its cleanup.
const orphanAge = 3 * time.Hour

// newName returns a unique name. It contains the time, by which orphan recognises old
// databases.
func newName() string {
	return fmt.Sprintf("%s%d_%s", prefix, time.Now().Unix(), strings.ToLower(rand.Text()[:10]))
}

// orphan reports whether a dead process left the database behind.
func orphan(name string) bool {
	rest, ours := strings.CutPrefix(name, prefix)
	made, _, _ := strings.Cut(rest, "_")
	seconds, err := strconv.ParseInt(made, 10, 64)
	return ours && err == nil && time.Since(time.Unix(seconds, 0)) > orphanAge
}

// withDatabase returns the server's URL with another database.
func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", errURL
	}
	u.Path, u.RawPath = "/"+name, ""
	return u.String(), nil
}

// databaseOf returns the database in a URL made here.
func databaseOf(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}
