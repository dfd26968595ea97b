package sqladapter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc/internal/seal"
	"authsvc/internal/text"
)

// A Statement is built once, in New, and prepared once per connection.
type Statement struct {
	Text string

	order      []int // which argument each parameter takes; nil: as they are
	numbers    []int // which arguments are ids that the database makes
	generated  bool  // an INSERT without the id, which the database makes
	uuid       bool  // an INSERT with an id that has to be a UUID
	noID       bool  // an INSERT into a table without a column for the id
	timestamps int   // how many times of writing end an INSERT
	now        func() any
	changes    bool // not only reads
	on         Database
	prepared   prepared // of database/sql
}

// A builder writes statements in the dialect of a database.
type builder struct {
	reader, writer Database
	dialect        *Dialect
	names          Names
	traits         Traits
	all            []*Statement
	err            error
}

// read makes a statement that runs on its own and changes nothing.
func (b *builder) read(text string) *Statement { return b.add(b.reader, text) }

// write makes a statement that changes something or belongs to a step that
// does.
func (b *builder) write(text string) *Statement {
	s := b.add(b.writer, text)
	s.changes = true
	return s
}

func (b *builder) add(on Database, text string) *Statement {
	s := &Statement{on: on}
	text = b.comparisons(s, b.absent(text))
	expanded, err := b.names.Expand(b.dialect.Rebind(text), b.dialect.Quote)
	b.err = errors.Join(b.err, err)
	s.Text = expanded
	b.all = append(b.all, s)
	return s
}

// absent reads ids that a table does not have as NULL.
func (b *builder) absent(text string) string {
	for table, none := range b.traits.NoIDs {
		if none {
			id := `{` + table + `.id}`
			text = strings.NewReplacer(`s.`+id, `NULL`, id, `NULL`).Replace(text)
		}
	}
	return text
}

// insert makes an INSERT into a shared table. The first column is the id,
// which is left out when the database makes it or has none.
func (b *builder) insert(table, columns string) *Statement {
	generated, none, suffix := b.traits.GeneratedIDs[table], b.traits.NoIDs[table], ""
	if generated || none {
		_, columns, _ = strings.Cut(columns, ", ")
	}
	if generated && b.dialect.Returning {
		suffix = ` RETURNING {` + table + `.id}`
	}
	timestamps := b.traits.Timestamps[table]
	for _, column := range timestamps {
		columns += `, ` + b.dialect.Quote(column)
	}
	values := strings.TrimSuffix(strings.Repeat("?, ", strings.Count(columns, ",")+1), ", ")
	s := b.write(`INSERT INTO {` + table + `} (` + columns + `) VALUES (` + values + `)` + suffix)
	s.generated, s.uuid, s.noID, s.timestamps = generated, b.traits.UUIDs[table], none, len(timestamps)
	s.now = func() any { return encode(b.dialect, b.traits, time.Now()) }
	return s
}

// comparisons replaces {=User.email} and {=u.User.email}, of an alias u, by a
// comparison with one parameter that holds byte for byte. It notes in s which
// argument each parameter of the text takes, since a column that the database
// compares loosely needs its argument twice, and which arguments are numbers.
func (b *builder) comparisons(s *Statement, text string) string {
	var out strings.Builder
	var order []int
	args, twice := 0, false
	take := func(part string) {
		for range strings.Count(part, "?") {
			order = append(order, args)
			args++
		}
		out.WriteString(part)
	}
	for {
		before, rest, found := strings.Cut(text, "{=")
		take(before)
		if !found {
			break
		}
		logical, after, _ := strings.Cut(rest, "}")
		column := "{" + logical + "}"
		if alias, plain, aliased := strings.Cut(logical, "."); aliased && strings.Contains(plain, ".") {
			logical, column = plain, alias+".{"+plain+"}"
		}
		out.WriteString(column + " = ?")
		order = append(order, args)
		if b.traits.Folded[logical] && b.dialect.Exact != nil {
			out.WriteString(" AND " + b.dialect.Exact(column))
			order = append(order, args)
			twice = true
		}
		if b.number(logical) {
			s.numbers = append(s.numbers, args)
		}
		args++
		text = after
	}
	if twice {
		s.order = order
	}
	return out.String()
}

// number reports whether a column that is compared holds a number that the
// database makes.
func (b *builder) number(logical string) bool {
	switch logical {
	case "User.id", "Account.userId", "Session.userId":
		return b.traits.GeneratedIDs["User"]
	}
	return false
}

// arguments puts arguments in the order of the parameters. An argument that is
// compared with numbers but is not one becomes NULL, which equals nothing: some
// databases would take "7x" for 7.
func (s *Statement) arguments(args []any) []any {
	for _, n := range s.numbers {
		if id, _ := args[n].(string); !isNumber(id) {
			args = slices.Clone(args)
			args[n] = nil
		}
	}
	if s.order == nil {
		return args
	}
	ordered := make([]any, len(s.order))
	for i, n := range s.order {
		ordered[i] = args[n]
	}
	return ordered
}

func isNumber(id string) bool {
	n, err := strconv.ParseInt(id, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == id
}

// prepare prepares all statements that are not yet. It runs outside of every
// transaction, since a transaction may hold the only connection.
func (a *Adapter) prepare(ctx context.Context) error {
	if a.prepared.Load() {
		return nil
	}
	a.preparing.Lock()
	defer a.preparing.Unlock()
	for _, s := range a.all {
		if err := s.on.Prepare(ctx, s); err != nil {
			return uncommitted{fmt.Errorf("prepare statements (is the schema migrated?): %w", err)}
		}
	}
	a.prepared.Store(true)
	return nil
}

// A runner runs statements in one transaction, or in none when tx is nil; then
// it notes in changed that one may have changed something.
type runner struct {
	tx      Tx
	changed *bool
}

func (r runner) on(s *Statement) Querier {
	if r.tx != nil {
		return r.tx
	}
	if s.changes {
		*r.changed = true
	}
	return s.on
}

// exec returns how many rows were affected.
func (r runner) exec(ctx context.Context, s *Statement, args ...any) (int, error) {
	result, err := r.on(s).Exec(ctx, s, s.arguments(args))
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// execFound is exec for a change that is not found when it affects no row.
func (r runner) execFound(ctx context.Context, s *Statement, args ...any) error {
	n, err := r.exec(ctx, s, args...)
	if err == nil && n == 0 {
		return sql.ErrNoRows
	}
	return err
}

// later is exec where nobody asks how many rows were affected. Where transactions
// are pipelines its error comes from what follows it, at the latest from the commit.
// translate makes an error what it means here; nil leaves it.
func (r runner) later(ctx context.Context, s *Statement, translate func(error) error, args ...any) error {
	if p, ok := r.tx.(Pipeline); ok {
		p.Later(s, s.arguments(args), translate)
		return nil
	}
	_, err := r.exec(ctx, s, args...)
	return translated(translate, err)
}

func translated(translate func(error) error, err error) error {
	if err == nil || translate == nil {
		return err
	}
	return translate(err)
}

// insert runs an INSERT of [builder.insert] and sets id, the proposed one, to
// the one that counts, which is empty in a table without ids. See later.
func (r runner) insert(ctx context.Context, s *Statement, id *string, translate func(error) error, args ...any) error {
	for range s.timestamps {
		args = append(args, s.now())
	}
	if s.noID {
		*id = ""
		return r.later(ctx, s, translate, args...)
	}
	if s.uuid && !isUUID(*id) {
		*id = seal.UUIDv4()
	}
	if !s.generated {
		return r.later(ctx, s, translate, append([]any{*id}, args...)...)
	}
	if strings.Contains(s.Text, " RETURNING ") {
		return translated(translate, r.row(ctx, s, args...).Scan(textTo{id}))
	}
	result, err := r.on(s).Exec(ctx, s, args)
	if err != nil {
		return translated(translate, err)
	}
	n, err := result.LastInsertId()
	*id = strconv.FormatInt(n, 10)
	return err
}

func (r runner) row(ctx context.Context, s *Statement, args ...any) row {
	rows, err := r.on(s).Query(ctx, s, s.arguments(args))
	return row{rows, err}
}

// rows calls scan for each row.
func (r runner) rows(ctx context.Context, s *Statement, args []any, scan func(Rows) error) (err error) {
	rows, err := r.on(s).Query(ctx, s, s.arguments(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// canonical is a UUID as databases return it, RFC 9562 §4.
var canonical = text.LazyRegexp(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func isUUID(id string) bool { return canonical.MatchString(id) }

// Statements returns the text of all statements of an adapter, for tests of
// their plans.
func Statements(a *Adapter) (texts []string) {
	for _, s := range a.all {
		texts = append(texts, s.Text)
	}
	return texts
}
