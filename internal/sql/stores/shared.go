package stores

import "strings"

// A SharedTable is one of the four tables or collections that a NextAuth.js application
// may share.
type SharedTable struct {
	Logical string // the name of preset prisma, such as "User"
	Name    string // in the database
	Exists  bool   // otherwise, Migrate would create it
	Rows    int64  // Uncounted if counting takes too long
}

// Uncounted stands for a number of rows that is not known.
const Uncounted = -1

// A MissedError refuses to create shared tables, because tables that look like them
// exist under other names. All users would be new in the created tables.
type MissedError struct {
	Key     string // of the configuration, such as storage.tables
	Problem string
	Fix     string // what to write into the configuration
}

// Error returns the problem and the fix.
func (e *MissedError) Error() string { return e.Key + " " + e.Problem + "; " + e.Fix }

// An UnusableError says why existing tables cannot be used, and how to change that.
type UnusableError struct{ Err error }

// Error names all tables and columns that cannot be used.
func (e *UnusableError) Error() string { return "cannot use the tables: " + e.Err.Error() }

// Unwrap returns what is wrong with each table or column.
func (e *UnusableError) Unwrap() error { return e.Err }

// A ColumnsError says which of the columns in Naming.UserColumns the table of users
// lacks. The application owns them: authsvc creates them only with a new table of users.
type ColumnsError struct {
	Problem    string
	Statements []string // that add the columns
}

// Fix says what to do.
func (e *ColumnsError) Fix() string {
	return "run " + strings.Join(e.Statements, "; ") + ", with the types that your application needs, or remove the names from the list"
}

// Error returns the problem and the fix, for a program that sets Naming.UserColumns.
func (e *ColumnsError) Error() string { return "Naming.UserColumns " + e.Problem + "; " + e.Fix() }

// Missed returns a [MissedError]. absent are the tables that do not exist, similar those
// that look like them, naming the members of the key storage that use them, and
// parameter the parameter of storage.url that finds them. Either may be empty.
func Missed(absent, similar, naming []string, parameter string) error {
	e := &MissedError{Key: "storage.tables"}
	e.Problem = "does not lead to the tables of the application: the database has no " + strings.Join(absent, ", ") + ", but " + strings.Join(similar, ", ") +
		"; in new tables, all users would be new"
	var steps []string
	if parameter != "" {
		e.Key = "storage.url"
		steps = append(steps, "add the parameter "+parameter+" to storage.url")
	}
	if len(naming) > 0 {
		if parameter == "" && strings.HasPrefix(naming[0], "naming: ") {
			e.Key = "storage.naming"
		}
		steps = append(steps, "write under storage: `"+strings.Join(naming, "` and `")+"`")
	}
	e.Fix = "to use them, " + strings.Join(steps, " and ") + "; if you want new, empty tables, run `authsvc migrate up --new-tables` once"
	return e
}
