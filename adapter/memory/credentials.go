package memory

import (
	"bytes"
	"context"
	"slices"

	"authsvc/adapter"
)

// PutCredential implements [adapter.Adapter].
func (a *Store) PutCredential(ctx context.Context, c adapter.Credential, epoch int64, most int) error {
	return a.do(ctx, func() error {
		if len(c.Data) > maxData {
			return errData
		}
		if err := a.unchanged(c.UserID, epoch); err != nil {
			return err
		}
		if _, taken := a.credentials[credentialKey{c.Kind, c.ID}]; taken {
			return adapter.ErrConflict
		}
		n := 0
		for k, other := range a.credentials {
			if k.kind == c.Kind && other.UserID == c.UserID {
				n++
			}
		}
		if n >= most {
			return adapter.ErrTooMany
		}
		c.Version, c.Created = 1, stored(c.Created)
		a.keepCredential(c)
		return nil
	})
}

func (a *Store) keepCredential(c adapter.Credential) {
	c.Used, c.Expires, c.Data = stored(c.Used), stored(c.Expires), bytes.Clone(c.Data)
	a.credentials[credentialKey{c.Kind, c.ID}] = c
}

// GetCredential implements [adapter.Adapter].
func (a *Store) GetCredential(ctx context.Context, kind adapter.CredentialKind, id string) (c adapter.Credential, err error) {
	err = a.do(ctx, func() error {
		found, ok := a.credentials[credentialKey{kind, id}]
		if !ok {
			return adapter.ErrNotFound
		}
		c = found
		c.Data = bytes.Clone(c.Data)
		return nil
	})
	return c, err
}

// UpdateCredential implements [adapter.Adapter].
func (a *Store) UpdateCredential(ctx context.Context, c adapter.Credential) error {
	return a.do(ctx, func() error {
		old, ok := a.credentials[credentialKey{c.Kind, c.ID}]
		switch {
		case len(c.Data) > maxData:
			return errData
		case !ok || old.UserID != c.UserID:
			return adapter.ErrNotFound
		case old.Version != c.Version:
			return adapter.ErrStale
		}
		c.Version, c.Created = old.Version+1, old.Created
		a.keepCredential(c)
		return nil
	})
}

// TryCredential implements [adapter.Adapter].
func (a *Store) TryCredential(ctx context.Context, kind adapter.CredentialKind, id string, most int) error {
	return a.do(ctx, func() error {
		c, ok := a.credentials[credentialKey{kind, id}]
		switch {
		case !ok:
			return adapter.ErrNotFound
		case c.Tries >= most:
			return adapter.ErrConflict
		}
		c.Tries++
		c.Version++
		a.credentials[credentialKey{kind, id}] = c
		return nil
	})
}

// DeleteCredential implements [adapter.Adapter].
func (a *Store) DeleteCredential(ctx context.Context, kind adapter.CredentialKind, id, userID string, r *adapter.Revocation) error {
	return a.do(ctx, func() error {
		c, ok := a.credentials[credentialKey{kind, id}]
		if !ok || c.UserID != userID {
			return adapter.ErrNotFound
		}
		delete(a.credentials, credentialKey{kind, id})
		if r != nil {
			a.revoke(r)
		}
		return nil
	})
}

// DeleteCredentials implements [adapter.Adapter].
func (a *Store) DeleteCredentials(ctx context.Context, userID string, r *adapter.Revocation, kinds ...adapter.CredentialKind) (n int, err error) {
	err = a.do(ctx, func() error {
		n = a.removeCredentials(userID, func(c adapter.Credential) bool { return slices.Contains(kinds, c.Kind) })
		if r != nil {
			a.revoke(r)
		}
		return nil
	})
	return n, err
}

func (a *Store) removeCredentials(userID string, which func(adapter.Credential) bool) (n int) {
	for k, c := range a.credentials {
		if c.UserID == userID && which(c) {
			delete(a.credentials, k)
			n++
		}
	}
	return n
}
