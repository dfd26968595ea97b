package redis

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"authsvc/adapter"
)

var (
	userSearch        = idempotent("user_search")
	addressesList     = idempotent("addresses_list")
	personGet         = idempotent("person_get")
	personSet         = nonIdempotent("person_set") // a late retry would undo a newer change
	credentialPut     = nonIdempotent("credential_put")
	credentialGet     = idempotent("credential_get")
	credentialUpdate  = nonIdempotent("credential_update")
	credentialTry     = nonIdempotent("credential_try")
	credentialDelete  = nonIdempotent("credential_delete")
	credentialsDelete = nonIdempotent("credentials_delete")
)

// maxData is the size limit of a credential's data, in bytes.
const maxData = 64 << 10

var errData = errors.New("redis: credential data exceeds 64 KiB")

// searchPage is the number of users that one step examines. Redis runs nothing else
// meanwhile.
const searchPage = 500

// SearchUsers implements [adapter.Adapter]. It orders users by the bytes of their ids or
// addresses, and takes as many steps as it needs.
func (s *Store) SearchUsers(ctx context.Context, q adapter.UserQuery) (found []adapter.User, err error) {
	index, first, end, due := "users", "-", "+", ""
	switch {
	case q.Prefix != "":
		index, first, end = "addresses", "["+q.Prefix, "("+q.Prefix+"\xff" // no byte of UTF-8 is greater
	case !q.Due.IsZero():
		index = "due"
	case q.Blocked:
		index = "blocked"
	}
	if !q.Due.IsZero() {
		due = optional(q.Due)
	}
	for after := q.After; q.Limit > 0; {
		from := first
		if after != "" && after >= q.Prefix {
			from = "(" + after
		}
		list, err := s.list(ctx, userSearch, []string{s.tag + index}, from, end, searchPage, q.Prefix != "", q.Blocked, due)
		if err != nil {
			return nil, err
		}
		found = append(found, rows(rowOf(list[1]).fields, row.user)...)
		if after = rowOf(list[0]).text(0); after == "" || len(found) >= q.Limit {
			break
		}
	}
	return found[:min(len(found), max(q.Limit, 0))], contextError(ctx)
}

// listAddresses gives users of schemas 1 and 2 an entry in the index of addresses. If it
// is interrupted, the next call continues. Several processes may call it at once.
func (s *Store) listAddresses(ctx context.Context) error {
	for {
		n, err := s.count(ctx, addressesList, []string{s.tag + "addresses-listed"}, searchPage)
		if err != nil || n < searchPage {
			return err
		}
	}
}

// GetPerson implements [adapter.Adapter].
func (s *Store) GetPerson(ctx context.Context, userID string) (adapter.Person, error) {
	list, err := s.list(ctx, personGet, []string{s.key("user", userID)}, userID)
	if err != nil {
		return adapter.Person{}, err
	}
	p := rowOf(list[0]).person()
	p.UserID, p.Credentials = userID, rows(rowOf(list[1]).fields, row.credential)
	slices.SortFunc(p.Credentials, func(x, y adapter.Credential) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.ID, y.ID))
	})
	return p, nil
}

// SetPerson implements [adapter.Adapter].
func (s *Store) SetPerson(ctx context.Context, userID string, change adapter.PersonUpdate, r *adapter.Revocation) error {
	args := append([]any{userID}, revocationFields(r)...)
	add := func(name string, set bool, value func() any) {
		if set {
			args = append(args, name, value())
		}
	}
	add("blocked", change.Blocked != nil, func() any { return optional(*change.Blocked) })
	add("why", change.BlockedWhy != nil, func() any { return *change.BlockedWhy })
	add("delete_after", change.DeleteAfter != nil, func() any { return optional(*change.DeleteAfter) })
	add("second_step", change.SecondStep != nil, func() any {
		if *change.SecondStep {
			return "1"
		}
		return ""
	})
	add("recover_after", change.RecoverAfter != nil, func() any { return optional(*change.RecoverAfter) })
	add("locale", change.Locale != nil, func() any { return *change.Locale })
	list, err := s.list(ctx, personSet, []string{s.key("user", userID)}, args...)
	numbered(r, list, 0)
	return err
}

// numbered sets r.Seq from element i of an answer; r may be nil.
func numbered(r *adapter.Revocation, list []any, i int) {
	if r != nil {
		r.Seq = row{list}.number(i)
	}
}
