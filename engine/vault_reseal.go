package engine

import (
	"context"
	"errors"
	"fmt"

	"authsvc/adapter"
)

// errSealLost says that no configured secret opens a record.
var errSealLost = errors.New("no configured secret opens it, or the row was changed")

// resealCredential does the work of Reseal for a credential. If the credential changes
// meanwhile, the change wins and resealCredential looks at it again.
func (vt *vault) resealCredential(ctx context.Context, c adapter.Credential, dryRun bool) (stale bool, err error) {
	for range rewriteTries {
		if len(c.Data) == 0 {
			return false, nil
		}
		text, stale, err := vt.fleet.OpenText(&c)
		switch {
		case err != nil:
			return false, errSealLost
		case !stale || dryRun:
			return stale, nil
		}
		c.Data = vt.fleet.SealText(&c, text)
		switch err = vt.Adapter.UpdateCredential(ctx, c); {
		case errors.Is(err, adapter.ErrNotFound):
			return false, nil
		case !errors.Is(err, adapter.ErrStale):
			return true, err
		}
		if c, err = vt.Adapter.GetCredential(ctx, c.Kind, c.ID); err != nil {
			if errors.Is(err, adapter.ErrNotFound) {
				return false, nil
			}
			return false, err
		}
	}
	return false, fmt.Errorf("a credential of the kind %s keeps changing: %w", c.Kind, adapter.ErrStale)
}
