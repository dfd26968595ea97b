package servertest

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// prefix begins the name of every database that is made here.
const prefix = "authsvc_test_"

// orphanAge is when a database cannot belong to a running test any more: the
// process that made it died before its cleanup.
const orphanAge = 3 * time.Hour

// newName returns a name that no other test has. It contains the time, by which
// orphans are recognised.
func newName() string {
	return fmt.Sprintf("%s%d_%s", prefix, time.Now().Unix(), strings.ToLower(rand.Text()[:10]))
}

// orphan reports whether a process left the database behind.
func orphan(name string) bool {
	rest, ours := strings.CutPrefix(name, prefix)
	made, _, _ := strings.Cut(rest, "_")
	seconds, err := strconv.ParseInt(made, 10, 64)
	return ours && err == nil && time.Since(time.Unix(seconds, 0)) > orphanAge
}

// withDatabase returns the server's URL with another path.
func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", errURL
	}
	u.Path, u.RawPath = "/"+name, ""
	return u.String(), nil
}

// databaseOf returns the database that a URL made here names.
func databaseOf(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}
