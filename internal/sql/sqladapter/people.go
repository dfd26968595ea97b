package sqladapter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"authsvc/adapter"
)

// maxData bounds the data of a credential, in bytes.
const maxData = 64 << 10

var errData = errors.New("credential data exceeds 64 KiB")

const (
	personColumns     = `p.blocked, p.blocked_why, p.delete_after, p.second_step, p.recover_after, p.locale`
	credentialColumns = `c.kind, c.id, c.user_id, c.name, c.data, c.version, c.tries, c.created, c.used, c.expires`
)

type peopleStatements struct {
	insertLocale                                                      *Statement
	dropEarlier                                                       []*Statement
	getPerson, insertPerson, lockPerson, updatePerson, dropSecondStep *Statement
	searchUsers                                                       map[userSearch]*Statement
	countCredentials, insertCredential, getCredential, lockCredential *Statement
	updateCredential, tryCredential, deleteCredential                 *Statement
	deleteCredentialsOf, deleteCredentialsBut                         *Statement
}

// A userSearch selects a query for users: over all users, or over blocked or due
// persons; with or without a prefix of the address; from the first one or after another.
type userSearch struct {
	from          string
	prefix, after bool
}

func buildPeople(b *builder) peopleStatements {
	p := peopleStatements{
		getPerson: b.read(`SELECT ` + personColumns + `, ` + credentialColumns + ` FROM {User} u ` +
			`LEFT JOIN authsvc_person p ON p.user_id = u.{User.id} LEFT JOIN authsvc_credential c ON c.user_id = u.{User.id} ` +
			`WHERE {=u.User.id} ORDER BY c.kind, c.id`),
		insertPerson: b.write(`INSERT INTO authsvc_person (user_id) VALUES (?)`),
		insertLocale: b.write(`INSERT INTO authsvc_person (user_id, locale) VALUES (?, ?)`),
		lockPerson:   b.write(`SELECT ` + personColumns + ` FROM authsvc_person p WHERE p.user_id = ?` + b.dialect.ForUpdate),
		updatePerson: b.write(`UPDATE authsvc_person SET blocked = ?, blocked_why = ?, delete_after = ?, second_step = ?, ` +
			`recover_after = ?, locale = ? WHERE user_id = ?`),
		dropSecondStep: b.write(`UPDATE authsvc_person SET second_step = 0 WHERE user_id = ?`),

		countCredentials: b.write(`SELECT COUNT(*) FROM authsvc_credential WHERE user_id = ? AND kind = ?`),
		insertCredential: b.write(`INSERT INTO authsvc_credential (kind, id, user_id, name, data, version, tries, created, used, expires) ` +
			`VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
		getCredential:  b.read(`SELECT ` + credentialColumns + ` FROM authsvc_credential c WHERE c.kind = ? AND c.id = ?`),
		lockCredential: b.write(`SELECT ` + credentialColumns + ` FROM authsvc_credential c WHERE c.kind = ? AND c.id = ?` + b.dialect.ForUpdate),
		updateCredential: b.write(`UPDATE authsvc_credential SET name = ?, data = ?, version = ?, tries = ?, used = ?, expires = ? ` +
			`WHERE kind = ? AND id = ?`),
		tryCredential:        b.write(`UPDATE authsvc_credential SET tries = tries + 1, version = version + 1 WHERE kind = ? AND id = ? AND tries < ?`),
		deleteCredential:     b.write(`DELETE FROM authsvc_credential WHERE kind = ? AND id = ?`),
		deleteCredentialsOf:  b.write(`DELETE FROM authsvc_credential WHERE user_id = ? AND kind = ?`),
		deleteCredentialsBut: b.write(`DELETE FROM authsvc_credential WHERE user_id = ? AND (kind <> '` + string(adapter.CredentialPending) + `' OR id <> ?)`),
	}
	p.searchUsers, p.dropEarlier = buildSearch(b), buildEarlier(b)
	return p
}

// buildEarlier makes the statements that delete everything of an earlier user with the
// id of a new one. Its revocations stay: they end the sessions of the earlier user.
func buildEarlier(b *builder) []*Statement {
	var list []*Statement
	for _, of := range []string{`authsvc_person WHERE user_id = ?`, `authsvc_credential WHERE user_id = ?`, `authsvc_jwt_session WHERE user_id = ?`,
		`{Session} WHERE {=Session.userId}`, `{Account} WHERE {=Account.userId}`} {
		list = append(list, b.write(`DELETE FROM `+of))
	}
	return list
}

// noTime is later than every time in our own tables.
const noTime int64 = math.MaxInt64 - 1

// buildSearch makes the queries for users. The parameters are the other conditions of
// from; the id to start after, unless the query starts at the first user, or the
// parameters of a prefix; and the limit. The parameters of a prefix are its length, the
// prefix, and those of begins, which name the address to start after.
func buildSearch(b *builder) map[userSearch]*Statement {
	of := `SELECT ` + b.userColumns() + `, ` + epochColumns(b.dialect) + ` FROM `
	const persons = `authsvc_person p JOIN {User} u ON u.{User.id} = p.user_id WHERE `
	const id, email = `p.user_id`, `u.{User.email}` // in the order of u.{User.id}, SQLite would read all users
	// If it were a bare comparison, PostgreSQL would expect it to exclude most rows of the
	// index, and would sort all of them instead.
	exact := `COALESCE(SUBSTR(` + b.dialect.IDText(email) + `, 1, ?) = ?, FALSE) AND `
	all := map[userSearch]*Statement{}
	add := func(name, from string) {
		for _, after := range []bool{false, true} {
			all[userSearch{name, true, after}] = b.read(of + from + exact + b.dialect.begins(email, after) + ` ORDER BY ` + b.dialect.Indexed(email) + ` LIMIT ?`)
		}
		if name == "users" { // without a prefix, this is ListUsers
			return
		}
		all[userSearch{name, false, false}] = b.read(of + strings.TrimSuffix(from, ` AND `) + ` ORDER BY ` + id + ` LIMIT ?`)
		all[userSearch{name, false, true}] = b.read(of + from + id + ` > ? ORDER BY ` + id + ` LIMIT ?`)
	}
	add("users", `{User} u WHERE `)
	add("blocked", persons+`p.blocked IS NOT NULL AND COALESCE(p.delete_after, `+fmt.Sprint(noTime)+`) <= ? AND `)
	add("due", persons+`p.delete_after <= ? AND `)
	return all
}

// SearchUsers implements [adapter.Adapter].
func (a *Adapter) SearchUsers(ctx context.Context, q adapter.UserQuery) ([]adapter.User, error) {
	by := userSearch{"users", q.Prefix != "", q.After != ""}
	var args []any
	switch {
	case q.Blocked && q.Due.IsZero():
		by.from, args = "blocked", []any{int64(math.MaxInt64)}
	case q.Blocked:
		by.from, args = "blocked", []any{ms(q.Due)}
	case !q.Due.IsZero():
		by.from, args = "due", []any{ms(q.Due)}
	case !by.prefix:
		return a.ListUsers(ctx, q.After, q.Limit)
	}
	switch {
	case by.prefix:
		args = append(append(args, utf8.RuneCountInString(q.Prefix), q.Prefix), a.dialect.beginning(q.Prefix, q.After)...)
	case by.after:
		args = append(args, q.After)
	}
	return a.manyUsers(ctx, "search users", a.searchUsers[by], append(args, max(q.Limit, 0))...)
}

// scanPerson returns the targets for personColumns.
func scanPerson(p *adapter.Person, secondStep *int64) []any {
	return []any{millis{&p.Blocked}, textTo{&p.BlockedWhy}, millis{&p.DeleteAfter}, number{secondStep}, millis{&p.RecoverAfter}, textTo{&p.Locale}}
}

func (c *credentialRow) scan() []any {
	return []any{textTo{&c.kind}, textTo{&c.ID}, textTo{&c.UserID}, textTo{&c.Name}, blob{&c.Data}, number{&c.Version}, number{&c.tries},
		millis{&c.Created}, millis{&c.Used}, millis{&c.Expires}}
}

// GetPerson implements [adapter.Adapter]. It runs one statement.
func (a *Adapter) GetPerson(ctx context.Context, userID string) (p adapter.Person, err error) {
	err = a.read(ctx, "get person", func(ctx context.Context, r runner) error {
		p = adapter.Person{}
		found := false
		err := r.rows(ctx, a.getPerson, []any{userID}, func(rows Rows) error {
			var c credentialRow
			var secondStep int64
			if err := rows.Scan(append(scanPerson(&p, &secondStep), c.scan()...)...); err != nil {
				return err
			}
			p.UserID, p.SecondStep, found = userID, secondStep != 0, true
			if c.Version > 0 {
				p.Credentials = append(p.Credentials, c.credential())
			}
			return nil
		})
		if err == nil && !found {
			err = adapter.ErrNotFound
		}
		return err
	})
	if err != nil {
		return adapter.Person{}, err
	}
	return p, nil
}

// SetPerson implements [adapter.Adapter]. It locks the user, so that writes to the same
// person happen one after the other.
func (a *Adapter) SetPerson(ctx context.Context, userID string, change adapter.PersonUpdate, rev *adapter.Revocation) error {
	return a.transact(ctx, "set person", func(ctx context.Context, r runner) error {
		if err := a.lockUserRow(ctx, r, userID); err != nil {
			return err
		}
		var p adapter.Person
		var secondStep int64
		err := a.contractError("look for the person", r.row(ctx, a.lockPerson, userID).Scan(scanPerson(&p, &secondStep)...))
		if errors.Is(err, adapter.ErrNotFound) {
			err = r.later(ctx, a.insertPerson, nil, userID)
		}
		if err != nil {
			return err
		}
		p.SecondStep = secondStep != 0
		set(&p.Blocked, change.Blocked)
		set(&p.BlockedWhy, change.BlockedWhy)
		set(&p.DeleteAfter, change.DeleteAfter)
		set(&p.SecondStep, change.SecondStep)
		set(&p.RecoverAfter, change.RecoverAfter)
		set(&p.Locale, change.Locale)
		if secondStep = 0; p.SecondStep {
			secondStep = 1
		}
		if err := r.later(ctx, a.updatePerson, nil, msOrNull(p.Blocked), orNull(p.BlockedWhy), msOrNull(p.DeleteAfter), secondStep,
			msOrNull(p.RecoverAfter), orNull(p.Locale), userID); err != nil || rev == nil {
			return err
		}
		if err := a.writeRevocations(ctx, r, rev); err != nil {
			return err
		}
		_, err = a.removeSessionsOf(ctx, r, userID)
		return err
	})
}

func dataArg(data []byte) any {
	if len(data) == 0 {
		return nil
	}
	return data
}
