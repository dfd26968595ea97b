package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"authsvc"
	"authsvc/adapter"
)

// CreateTries limits how often a write is tried when other writes overtake it.
const CreateTries = 5

// PutCredential stores a credential that gives no access, even of a user who is blocked
// or will be deleted. It fails if the user already has most credentials of this kind.
func (fl *Fleet) PutCredential(ctx context.Context, c adapter.Credential, most int) error {
	return fl.putCredential(ctx, c, most, func(authsvc.User) error { return nil })
}

// PutCredentialIf is PutCredential for a credential that gives access. It fails if the
// user is blocked or will be deleted, or if may returns an error. may is called after
// the user was read, and the store compares the user's epoch: if the access that may
// checks is revoked meanwhile, the credential is not stored.
func (fl *Fleet) PutCredentialIf(ctx context.Context, c adapter.Credential, most int, may func(authsvc.User) error) error {
	return fl.putCredential(ctx, c, most, func(u authsvc.User) error {
		switch {
		case !u.Blocked.IsZero():
			return fmt.Errorf("%w: the user is blocked", authsvc.ErrAccessDenied)
		case !u.DeleteAfter.IsZero():
			return fmt.Errorf("%w: the user is scheduled for deletion", authsvc.ErrAccessDenied)
		}
		return may(u)
	})
}

func (fl *Fleet) putCredential(ctx context.Context, c adapter.Credential, most int, may func(authsvc.User) error) error {
	for try := 1; ; try++ {
		u, err := fl.Adapter.GetUser(ctx, c.UserID)
		if err == nil {
			err = may(u)
		}
		if err != nil {
			return err
		}
		err = fl.Adapter.PutCredential(ctx, c, u.Epoch, most)
		if !errors.Is(err, adapter.ErrStale) || try == CreateTries {
			return err
		}
	}
}

// placeOf returns the values that bind sealed data to its credential.
func placeOf(c *adapter.Credential) []string { return []string{string(c.Kind), c.ID, c.UserID} }

// SealData seals v, as JSON, as the data of a credential; see OpenData.
func (fl *Fleet) SealData(c *adapter.Credential, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fl.SealText(c, string(raw)), nil
}

// SealText seals a text as the data of a credential.
func (fl *Fleet) SealText(c *adapter.Credential, text string) []byte {
	return []byte(fl.credentialBox.Seal(text, placeOf(c)...))
}

// OpenText opens what SealText sealed; see OpenData.
func (fl *Fleet) OpenText(c *adapter.Credential) (text string, stale bool, err error) {
	return fl.credentialBox.Open(string(c.Data), placeOf(c)...)
}

// OpenData opens the data of a credential. Data that was sealed for another credential
// or another user does not open. stale reports that it was sealed with a secret other
// than the first.
func (fl *Fleet) OpenData(c *adapter.Credential, v any) (stale bool, err error) {
	raw, stale, err := fl.OpenText(c)
	if err == nil {
		err = json.Unmarshal([]byte(raw), v)
	}
	return stale, err
}
