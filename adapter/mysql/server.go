package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// A server is a version of MySQL or MariaDB.
type server struct {
	mariaDB bool
	version [3]int
}

// minVersion returns the first version with everything the package needs: SKIP LOCKED
// (MariaDB 10.6, MySQL 8.0.1) and a binary collation that respects trailing blanks
// (MariaDB 10.2, MySQL 8.0.17).
func minVersion(mariaDB bool) [3]int {
	if mariaDB {
		return [3]int{10, 6, 0}
	}
	return [3]int{8, 0, 17}
}

// detectServer asks the server for its version and refuses one that is too old.
func detectServer(ctx context.Context, db *sql.DB) (server, error) {
	var version string
	if err := db.QueryRowContext(ctx, `SELECT VERSION()`).Scan(&version); err != nil {
		return server{}, err
	}
	s, err := parseServer(version)
	if err != nil {
		return server{}, fmt.Errorf("mysql: %w", err)
	}
	return s, nil
}

// parseServer parses the result of VERSION(), such as "8.0.36" or
// "10.11.6-MariaDB-log". For old replication partners, some MariaDB servers put
// "5.5.5-" in front.
func parseServer(text string) (server, error) {
	s := server{mariaDB: strings.Contains(strings.ToLower(text), "mariadb")}
	plain := text
	if s.mariaDB {
		plain = strings.TrimPrefix(text, "5.5.5-")
	}
	plain, _, _ = strings.Cut(plain, "-")
	for i, part := range strings.SplitN(plain, ".", 4) {
		n, err := strconv.Atoi(part)
		if err != nil && i < 2 {
			return server{}, fmt.Errorf("cannot tell the version of the server from %q", text)
		}
		if i < len(s.version) {
			s.version[i] = n
		}
	}
	need := minVersion(s.mariaDB)
	for i := range need {
		if s.version[i] != need[i] {
			if s.version[i] < need[i] {
				return server{}, fmt.Errorf("the server is %s, which is too old: use MySQL 8.0.17, MariaDB 10.6 or newer", text)
			}
			break
		}
	}
	return s, nil
}

// keyType returns the column type of keys: compared byte for byte, including trailing
// blanks. With more than 255 characters, two keys would not fit into one index.
func (s server) keyType() string {
	return "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE " + s.collation()
}

func (s server) collation() string {
	if s.mariaDB {
		return "utf8mb4_nopad_bin"
	}
	return "utf8mb4_0900_bin"
}

// folds reports whether a collation treats different texts as equal. Almost all do:
// even those with a name ending in _bin ignore trailing blanks, with two exceptions.
func folds(collation string) bool {
	return collation != "binary" && collation != "utf8mb4_0900_bin" && !strings.HasSuffix(collation, "_nopad_bin")
}
