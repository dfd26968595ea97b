package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"authsvc"
)

// CreateTries is how often a write is tried that another one overtakes.
const CreateTries = 5

// PutCredential stores a credential, unless the user is blocked, which is judged at
// the epoch that the store then compares, or has most of the kind.
func (fl *Fleet) PutCredential(ctx context.Context, c authsvc.Credential, most int) error {
	return fl.PutCredentialIf(ctx, c, most, func() error { return nil })
}

// PutCredentialIf is PutCredential if may returns nil. It is asked after the epoch was
// read that the store compares: what revokes the access that it judges is not overtaken.
func (fl *Fleet) PutCredentialIf(ctx context.Context, c authsvc.Credential, most int, may func() error) error {
	for try := 1; ; try++ {
		u, err := fl.Adapter.GetUser(ctx, c.UserID)
		switch {
		case err != nil:
			return err
		case !u.Blocked.IsZero():
			return fmt.Errorf("%w: the user is blocked", authsvc.ErrAccessDenied)
		case !u.DeleteAfter.IsZero():
			return fmt.Errorf("%w: the user is to be deleted", authsvc.ErrAccessDenied)
		}
		if err := may(); err != nil {
			return err
		}
		err = fl.Adapter.PutCredential(ctx, c, u.Epoch, most)
		if !errors.Is(err, authsvc.ErrStale) || try == CreateTries {
			return err
		}
	}
}

// placeOf is what the data of a credential is sealed for.
func placeOf(c *authsvc.Credential) []string { return []string{string(c.Kind), c.ID, c.UserID} }

// SealData seals a value to be the data of a credential, as JSON; see OpenData.
func (fl *Fleet) SealData(c *authsvc.Credential, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fl.SealText(c, string(raw)), nil
}

// SealText seals a text to be the data of a credential.
func (fl *Fleet) SealText(c *authsvc.Credential, text string) []byte {
	return []byte(fl.credentialBox.Seal(text, placeOf(c)...))
}

// OpenText opens what SealText sealed; see OpenData.
func (fl *Fleet) OpenText(c *authsvc.Credential) (text string, stale bool, err error) {
	return fl.credentialBox.Open(string(c.Data), placeOf(c)...)
}

// OpenData opens the data of a credential. What was sealed for another one or for
// another user does not open. stale: that was done with a secret that is not the
// first.
func (fl *Fleet) OpenData(c *authsvc.Credential, v any) (stale bool, err error) {
	raw, stale, err := fl.OpenText(c)
	if err == nil {
		err = json.Unmarshal([]byte(raw), v)
	}
	return stale, err
}
