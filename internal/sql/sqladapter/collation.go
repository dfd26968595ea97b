package sqladapter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"authsvc/adapter"
)

// uniqueValues holds the unique values that a step tried to write; nil: none.
type uniqueValues struct {
	user    *adapter.User
	account *adapter.Account
	session *adapter.SessionRecord
	token   *adapter.VerificationToken
}

// explain examines a conflict on tables whose text the database compares loosely. If
// the conflicting record is not the same byte for byte, it is not a conflict of the
// contract: no query of the adapter would find that record.
func (a *Adapter) explain(ctx context.Context, err error, v uniqueValues) error {
	if !errors.Is(err, adapter.ErrConflict) || len(a.traits.Folded) == 0 {
		return err
	}
	for _, c := range a.candidates(v) {
		folded := slices.ContainsFunc(c.columns, func(column string) bool { return a.traits.Folded[column] })
		if folded && a.collides(ctx, c) {
			return collationError(c.what, c.columns)
		}
	}
	return err
}

// A candidate is a value that must be unique.
type candidate struct {
	what    string
	find    *Statement // by columns, with the comparison of the database
	columns []string
	values  []string
}

func (a *Adapter) candidates(v uniqueValues) (list []candidate) {
	add := func(what string, find *Statement, columns []string, values ...string) {
		list = append(list, candidate{what, find, columns, values})
	}
	if v.user != nil && v.user.Email != "" {
		add("email address", a.looseEmail, []string{"User.email"}, v.user.Email)
	}
	if v.account != nil {
		add("provider account id", a.looseIdentity, []string{"Account.provider", "Account.providerAccountId"},
			v.account.Provider, v.account.ProviderAccountID)
	}
	if v.session != nil {
		add("session token", a.looseSession, []string{"Session.sessionToken"}, v.session.SessionToken)
	}
	if v.token != nil {
		add("link token", a.looseToken, []string{"VerificationToken.token"}, v.token.Token)
	}
	return list
}

// collides reports whether a record exists that only the database considers equal. If
// the query fails, it returns false and the conflict stands.
func (a *Adapter) collides(ctx context.Context, c candidate) bool {
	var args, into []any
	found := make([]string, len(c.values))
	for i, value := range c.values {
		args, into = append(args, value), append(into, textTo{&found[i]})
	}
	err := a.run(ctx, "look for a collision", func(ctx context.Context, r runner) error {
		return r.row(ctx, c.find, args...).Scan(into...)
	})
	return err == nil && !slices.Equal(found, c.values)
}

func collationError(what string, columns []string) error {
	return fmt.Errorf("the store holds a record whose %s differs only in case, accents or trailing blanks, and compares them as equal: give %s a binary collation", what, columns[len(columns)-1])
}
