package engine

import (
	"context"
	"errors"

	"authsvc"
)

// A Resealed counts what is sealed in the store.
type Resealed struct {
	Users int // whose records were read
	// Accounts and Credentials are those that a later entry of Secrets sealed:
	// tokens of providers, and data of credentials. They were sealed anew, or would
	// have been.
	Accounts, Credentials int
	SigningKeys           bool // so were the signing keys
	Left                  int  // of which something stays, as no entry of Secrets opens it
}

// Stale is how many records a later entry of Secrets sealed.
func (r Resealed) Stale() int {
	n := r.Accounts + r.Credentials
	if r.SigningKeys {
		n++
	}
	return n
}

// Reseal seals under the first of Secrets what later entries have sealed: tokens of
// providers, credentials and signing keys, so that the later entries can be
// removed. What others write meanwhile is never overwritten. Users are read in steps
// of 1000, after each of which progress is called, unless it is nil; an error of it
// ends everything and is returned. It can be interrupted and repeated: what was done
// is done. With dryRun it only counts. What replicas whose first secret is another
// write after it is for another run; mails in the queue are not looked at, they are
// of no use after 7 days at most.
func (o *Operator) Reseal(ctx context.Context, dryRun bool, progress func(Resealed) error) (r Resealed, err error) {
	for after := ""; ; {
		page, err := o.given.Adapter.ListUsers(ctx, after, rewritePage)
		if err != nil {
			return r, err
		}
		for _, u := range page {
			if err := o.resealUser(ctx, u.ID, dryRun, &r); err != nil {
				return r, err
			}
			after = u.ID
			r.Users++
		}
		if progress != nil {
			if err := progress(r); err != nil {
				return r, err
			}
		}
		if len(page) < rewritePage {
			break
		}
	}
	sealed, err := o.given.Adapter.GetMeta(ctx, metaKeys)
	switch {
	case errors.Is(err, authsvc.ErrNotFound):
		return r, nil
	case err != nil:
		return r, err
	}
	switch _, stale, err := o.issuer.unsealKeys(sealed); {
	case err != nil:
		r.Left++
		return r, nil
	case !stale:
		return r, nil
	}
	r.SigningKeys = true
	if dryRun {
		return r, nil
	}
	return r, o.issuer.resealKeys(ctx)
}

// resealUser is Reseal for what one user has.
func (h *storeys) resealUser(ctx context.Context, userID string, dryRun bool, r *Resealed) error {
	accounts, err := h.given.Adapter.ListAccounts(ctx, userID)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		_, renewed, lost := h.vault.tokens.read(a)
		if len(lost) > 0 {
			r.Left++
		}
		if renewed == a {
			continue
		}
		did, err := h.vault.rewriteAccount(ctx, a, dryRun)
		if err != nil {
			return err
		}
		if did.Written {
			r.Accounts++
		}
	}
	p, err := h.given.Adapter.GetPerson(ctx, userID)
	if err != nil && !errors.Is(err, authsvc.ErrNotFound) { // deleted meanwhile
		return err
	}
	for _, c := range p.Credentials {
		stale, err := h.vault.resealCredential(ctx, c, dryRun)
		switch {
		case errors.Is(err, errSealLost):
			r.Left++
		case err != nil:
			return err
		case stale:
			r.Credentials++
		}
	}
	return nil
}
