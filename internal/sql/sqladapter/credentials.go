package sqladapter

import (
	"context"
	"errors"

	"authsvc/adapter"
)

// A credentialRow is a credential with numbers of the column types.
type credentialRow struct {
	adapter.Credential
	kind  string
	tries int64
}

func (c *credentialRow) credential() adapter.Credential {
	c.Kind, c.Tries = adapter.CredentialKind(c.kind), int(c.tries)
	return c.Credential
}

// PutCredential implements [adapter.Adapter].
func (a *Adapter) PutCredential(ctx context.Context, c adapter.Credential, epoch int64, most int) error {
	return a.transact(ctx, "put credential", func(ctx context.Context, r runner) error {
		if len(c.Data) > maxData {
			return errData
		}
		if err := a.lockUserAt(ctx, r, c.UserID, epoch); err != nil {
			return err
		}
		var n int
		if err := r.row(ctx, a.countCredentials, c.UserID, string(c.Kind)).Scan(&n); err != nil {
			return err
		}
		if n >= most {
			return adapter.ErrTooMany
		}
		return r.later(ctx, a.insertCredential, a.noSuchUser, string(c.Kind), c.ID, c.UserID, orNull(c.Name), dataArg(c.Data), int64(1), int64(c.Tries),
			ms(c.Created), msOrNull(c.Used), msOrNull(c.Expires))
	})
}

// GetCredential implements [adapter.Adapter].
func (a *Adapter) GetCredential(ctx context.Context, kind adapter.CredentialKind, id string) (adapter.Credential, error) {
	var c credentialRow
	err := a.read(ctx, "get credential", func(ctx context.Context, r runner) error {
		return r.row(ctx, a.getCredential, string(kind), id).Scan(c.scan()...)
	})
	if err != nil {
		return adapter.Credential{}, err
	}
	return c.credential(), nil
}

// holdCredential locks a credential of a user until the end of the step.
func (a *Adapter) holdCredential(ctx context.Context, r runner, kind adapter.CredentialKind, id, userID string) (version int64, err error) {
	var c credentialRow
	err = r.row(ctx, a.lockCredential, string(kind), id).Scan(c.scan()...)
	if err == nil && c.UserID != userID {
		err = adapter.ErrNotFound
	}
	return c.Version, err
}

// UpdateCredential implements [adapter.Adapter].
func (a *Adapter) UpdateCredential(ctx context.Context, c adapter.Credential) error {
	return a.transact(ctx, "update credential", func(ctx context.Context, r runner) error {
		if len(c.Data) > maxData {
			return errData
		}
		version, err := a.holdCredential(ctx, r, c.Kind, c.ID, c.UserID)
		switch {
		case err != nil:
			return err
		case version != c.Version:
			return adapter.ErrStale
		}
		return r.execFound(ctx, a.updateCredential, orNull(c.Name), dataArg(c.Data), version+1, int64(c.Tries),
			msOrNull(c.Used), msOrNull(c.Expires), string(c.Kind), c.ID)
	})
}

// TryCredential implements [adapter.Adapter].
func (a *Adapter) TryCredential(ctx context.Context, kind adapter.CredentialKind, id string, most int) error {
	return a.transact(ctx, "try credential", func(ctx context.Context, r runner) error {
		n, err := r.exec(ctx, a.tryCredential, string(kind), id, most)
		if err != nil || n > 0 {
			return err
		}
		var c credentialRow
		if err := r.row(ctx, a.lockCredential, string(kind), id).Scan(c.scan()...); err != nil {
			return err
		}
		return adapter.ErrConflict
	})
}

// DeleteCredential implements [adapter.Adapter].
func (a *Adapter) DeleteCredential(ctx context.Context, kind adapter.CredentialKind, id, userID string, rev *adapter.Revocation) error {
	return a.transact(ctx, "delete credential", func(ctx context.Context, r runner) error {
		if err := a.lockUserRow(ctx, r, userID); err != nil {
			return err
		}
		if _, err := a.holdCredential(ctx, r, kind, id, userID); err != nil {
			return err
		}
		if err := r.execFound(ctx, a.deleteCredential, string(kind), id); err != nil || rev == nil {
			return err
		}
		return a.writeRevocations(ctx, r, rev)
	})
}

// DeleteCredentials implements [adapter.Adapter].
func (a *Adapter) DeleteCredentials(ctx context.Context, userID string, rev *adapter.Revocation, kinds ...adapter.CredentialKind) (n int, err error) {
	err = a.transact(ctx, "delete credentials", func(ctx context.Context, r runner) error {
		n = 0
		if err := a.lockUserRow(ctx, r, userID); err != nil {
			return err
		}
		for _, kind := range kinds {
			removed, err := r.exec(ctx, a.deleteCredentialsOf, userID, string(kind))
			if err != nil {
				return err
			}
			n += removed
		}
		if rev == nil {
			return nil
		}
		return a.writeRevocations(ctx, r, rev)
	})
	if errors.Is(err, adapter.ErrNotFound) { // the user is not stored
		if n, err = 0, nil; rev != nil {
			err = a.transact(ctx, "delete credentials", func(ctx context.Context, r runner) error { return a.writeRevocations(ctx, r, rev) })
		}
	}
	return n, err
}
