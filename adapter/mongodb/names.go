package mongodb

import (
	"fmt"
	"maps"
	"strings"

	"authsvc/internal/sql/sqladapter"
)

// Naming gives the names of the four shared collections (Tables) and their fields
// (Columns), by logical names such as "User" and "User.email". Without a preset, they
// are the names of NextAuth.js's MongoDB adapter: users, accounts, sessions and
// verification_tokens, with the field names of its interface. Preset "prisma" names the
// collections User, Account, Session and VerificationToken, as Prisma does. Preset
// "snake" is the same as in the SQL stores. Ids are always called _id.
type Naming = sqladapter.Naming

// names maps logical names to names in the database.
type names sqladapter.Names

func (n names) of(logical string) string { return n[logical] }

// defaults returns the collection names of NextAuth.js's adapter.
func defaults() map[string]string {
	return map[string]string{"User": "users", "Account": "accounts", "Session": "sessions", "VerificationToken": "verification_tokens"}
}

func resolve(n Naming) (names, error) {
	if n.Preset == "" {
		tables := defaults()
		maps.Copy(tables, n.Tables)
		n.Tables = tables
	}
	resolved, err := n.Resolve()
	if err != nil {
		return nil, err
	}
	for logical, physical := range resolved {
		table, field, isField := strings.Cut(logical, ".")
		switch {
		case isField && field == "id":
			if _, renamed := n.Columns[logical]; renamed && physical != "_id" {
				return nil, fmt.Errorf("naming: %s is always _id in MongoDB", logical)
			}
			resolved[logical] = "_id"
		case strings.HasPrefix(logical, "User+") && (strings.HasPrefix(physical, "authsvc_") || physical == "_id"):
			return nil, fmt.Errorf("naming: the field %q of User is reserved", physical)
		case strings.ContainsAny(physical, "$\x00") || strings.HasPrefix(physical, "system."):
			return nil, fmt.Errorf("naming: %q is not a name in MongoDB", physical)
		case isField && (strings.Contains(physical, ".") || physical == "_id" || strings.HasPrefix(physical, "authsvc_")):
			return nil, fmt.Errorf("naming: %s.%s cannot be called %q", table, field, physical)
		}
	}
	return names(resolved), nil
}
