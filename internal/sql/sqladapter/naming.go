package sqladapter

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Naming sets the names of the four shared tables and their columns.
type Naming struct {
	// Preset is one of three sets of names. "prisma" (the default) uses the names of
	// the interface: User, Account, Session, VerificationToken, userId …. "snake" uses
	// users, accounts, sessions, verificationtokens, user_id …. "authjs" uses the names
	// of @auth/pg-adapter: users, accounts, sessions, verification_token, userId ….
	Preset string
	// Tables renames single tables, such as "User": "people".
	Tables map[string]string
	// Columns renames single columns, such as "User.image": "avatar".
	Columns map[string]string
	// UserColumns lists further columns of the User table by their physical names. They
	// are read into [adapter.User].Extra with every user and never written. If Open
	// creates the table, it has them, as text. If an existing table lacks one, Open fails.
	UserColumns []string
}

// maxName is the longest identifier that every database accepts, in bytes.
const maxName = 63

// ownPrefix starts the names of authsvc's own tables.
const ownPrefix = "authsvc_"

// schema lists the logical names: each table and then its columns.
func schema() [][]string {
	return [][]string{
		{"User", "id", "name", "email", "emailVerified", "image"},
		{"Account", "id", "userId", "type", "provider", "providerAccountId",
			"refresh_token", "access_token", "expires_at", "token_type", "scope",
			"id_token", "session_state"},
		{"Session", "id", "sessionToken", "userId", "expires"},
		{"VerificationToken", "identifier", "token", "expires"},
	}
}

// Names maps logical names, "User" or "User.email", to the names in the database.
type Names map[string]string

// Resolve applies the preset, then the renames. It refuses unknown, unusable and
// colliding names.
func (n Naming) Resolve() (Names, error) {
	names := Names{}
	for _, table := range schema() {
		physical, err := n.table(table[0])
		if err != nil {
			return nil, err
		}
		names[table[0]] = physical
		for _, column := range table[1:] {
			names[table[0]+"."+column] = n.column(table[0], column)
		}
	}
	if err := n.checkRenames(names); err != nil {
		return nil, err
	}
	if err := names.check(); err != nil {
		return nil, err
	}
	return names, n.addUserColumns(names)
}

func (n Naming) table(logical string) (string, error) {
	if name, ok := n.Tables[logical]; ok {
		return name, nil
	}
	switch n.Preset {
	case "", "prisma":
		return logical, nil
	case "snake":
		return strings.ToLower(logical) + "s", nil
	case "authjs":
		if logical == "VerificationToken" {
			return "verification_token", nil
		}
		return strings.ToLower(logical) + "s", nil
	}
	return "", fmt.Errorf("naming: unknown preset %q; use prisma, snake or authjs", n.Preset)
}

func (n Naming) column(table, logical string) string {
	if name, ok := n.Columns[table+"."+logical]; ok {
		return name
	}
	if n.Preset == "snake" {
		return snake(logical)
	}
	return logical
}

// snake turns userId into user_id.
func snake(camel string) string {
	var b strings.Builder
	for _, r := range camel {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// checkRenames refuses renames of unknown tables and columns.
func (n Naming) checkRenames(names Names) error {
	for table := range n.Tables {
		if _, ok := names[table]; !ok || strings.Contains(table, ".") {
			return fmt.Errorf("naming: unknown table %q", table)
		}
	}
	for column := range n.Columns {
		if _, ok := names[column]; !ok || !strings.Contains(column, ".") {
			return fmt.Errorf("naming: unknown column %q; write it as Table.column with the names of preset prisma", column)
		}
	}
	return nil
}

// check refuses names that a database would refuse or confuse. Many databases ignore
// case, so names that differ only in case collide.
func (names Names) check() error {
	var tables []string
	for _, table := range schema() {
		physical := names[table[0]]
		if err := checkName(physical); err != nil {
			return err
		}
		if strings.HasPrefix(strings.ToLower(physical), ownPrefix) {
			return fmt.Errorf("naming: table %q: the prefix %s is reserved", physical, ownPrefix)
		}
		tables = append(tables, strings.ToLower(physical))
		var columns []string
		for _, column := range table[1:] {
			physical := names[table[0]+"."+column]
			if err := checkName(physical); err != nil {
				return err
			}
			columns = append(columns, strings.ToLower(physical))
		}
		if twice := duplicate(columns); twice != "" {
			return fmt.Errorf("naming: table %s has two columns %q", table[0], twice)
		}
	}
	if twice := duplicate(tables); twice != "" {
		return fmt.Errorf("naming: two tables are called %q", twice)
	}
	return nil
}

func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar
	}) {
		return fmt.Errorf("naming: %q is not a name: write 1 to %d bytes of printable text", name, maxName)
	}
	return nil
}

func duplicate(names []string) string {
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return names[i]
		}
	}
	return ""
}

// Expand replaces {User} and {User.email} in text by the quoted names of the database.
// Columns stay unqualified.
func (names Names) Expand(text string, quote func(string) string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		logical, after, closed := strings.Cut(rest, "}")
		physical, known := names[logical]
		if !closed || !known {
			return "", fmt.Errorf("naming: statement names unknown %q", logical)
		}
		b.WriteString(quote(physical))
		text = after
	}
}

// Columns lists the logical names of all columns, such as "User.email".
func (names Names) Columns() (list []string) {
	for _, table := range schema() {
		for _, column := range table[1:] {
			list = append(list, table[0]+"."+column)
		}
	}
	return list
}
