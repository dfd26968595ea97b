package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"authsvc/adapter"
)

// maxData is the size limit of a credential's data, in bytes.
const maxData = 64 << 10

var errData = errors.New("credential data exceeds 64 KiB")

// A credentialKey is the unique key of a credential.
type credentialKey struct {
	kind adapter.CredentialKind
	id   string
}

// GetPerson implements [adapter.Adapter].
func (a *Store) GetPerson(ctx context.Context, userID string) (p adapter.Person, err error) {
	err = a.do(ctx, func() error {
		if _, ok := a.users[userID]; !ok {
			return adapter.ErrNotFound
		}
		p = a.people[userID]
		p.UserID = userID
		for _, c := range a.credentials {
			if c.UserID == userID {
				c.Data = bytes.Clone(c.Data)
				p.Credentials = append(p.Credentials, c)
			}
		}
		slices.SortFunc(p.Credentials, func(x, y adapter.Credential) int {
			return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.ID, y.ID))
		})
		return nil
	})
	return p, err
}

// SetPerson implements [adapter.Adapter].
func (a *Store) SetPerson(ctx context.Context, userID string, change adapter.PersonUpdate, r *adapter.Revocation) error {
	return a.do(ctx, func() error {
		if _, ok := a.users[userID]; !ok {
			return adapter.ErrNotFound
		}
		a.setPerson(userID, change)
		if r != nil {
			a.removeSessions(userID)
			a.revoke(r)
		}
		return nil
	})
}

func (a *Store) setPerson(userID string, change adapter.PersonUpdate) {
	p := a.people[userID]
	set(&p.Blocked, change.Blocked)
	set(&p.BlockedWhy, change.BlockedWhy)
	set(&p.DeleteAfter, change.DeleteAfter)
	set(&p.SecondStep, change.SecondStep)
	set(&p.RecoverAfter, change.RecoverAfter)
	set(&p.Locale, change.Locale)
	p.Blocked, p.DeleteAfter, p.RecoverAfter = stored(p.Blocked), stored(p.DeleteAfter), stored(p.RecoverAfter)
	a.people[userID] = p
}

// SearchUsers implements [adapter.Adapter].
func (a *Store) SearchUsers(ctx context.Context, q adapter.UserQuery) (list []adapter.User, err error) {
	err = a.do(ctx, func() error {
		for id := range a.following(q) {
			p := a.people[id]
			if len(list) >= q.Limit {
				break
			}
			if (!q.Blocked || !p.Blocked.IsZero()) && (q.Due.IsZero() || !p.DeleteAfter.IsZero() && !p.DeleteAfter.After(q.Due)) {
				list = append(list, a.withEpochs(a.users[id]))
			}
		}
		return nil
	})
	return list, err
}

// following yields the ids of users from the start of a page on: those whose address has
// the prefix, in the order of addresses, or all in the order of ids.
func (a *Store) following(q adapter.UserQuery) iter.Seq[string] {
	if q.Prefix == "" {
		ids := slices.DeleteFunc(slices.Collect(maps.Keys(a.users)), func(id string) bool { return id <= q.After })
		slices.Sort(ids)
		return slices.Values(ids)
	}
	return func(yield func(string) bool) {
		first, there := slices.BinarySearch(a.addresses, max(q.After, q.Prefix))
		if there && q.After != "" && a.addresses[first] == q.After {
			first++
		}
		for _, email := range a.addresses[first:] {
			if !strings.HasPrefix(email, q.Prefix) || !yield(a.emails[email]) {
				return
			}
		}
	}
}
