package engine

import (
	"context"
	"errors"

	"authsvc/adapter"
)

// A Resealed counts the records that Reseal has handled.
type Resealed struct {
	Users int // users whose records were read
	// Accounts and Credentials count the records that a later entry of Secrets sealed:
	// provider tokens and the data of credentials. They were sealed again or, with
	// dryRun, would have been.
	Accounts, Credentials int
	SigningKeys           bool // whether this applies to the signing keys too
	Left                  int  // records that keep something which no entry of Secrets opens
}

// Stale returns the number of records that a later entry of Secrets sealed.
func (r Resealed) Stale() int {
	n := r.Accounts + r.Credentials
	if r.SigningKeys {
		n++
	}
	return n
}

// Reseal seals under the first of Secrets all provider tokens, credentials and signing
// keys that later entries sealed, so that you can remove the later entries. It never
// overwrites what others write meanwhile. It reads users in steps of 1000 and calls
// progress, unless nil, after each step. If progress returns an error, Reseal stops and
// returns it. You can interrupt and repeat Reseal: finished work stays. With dryRun, it
// only counts.
//
// If replicas with another first secret write later, run Reseal again. It does not look
// at mails in the queue, which are useless after at most 7 days.
func (o *Operator) Reseal(ctx context.Context, dryRun bool, progress func(Resealed) error) (r Resealed, err error) {
	for after := ""; ; {
		page, err := o.common.Adapter.ListUsers(ctx, after, rewritePage)
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
	sealed, err := o.common.Adapter.GetMeta(ctx, metaKeys)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
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

// resealUser does the work of Reseal for one user.
func (h *storeys) resealUser(ctx context.Context, userID string, dryRun bool, r *Resealed) error {
	accounts, err := h.common.Adapter.ListAccounts(ctx, userID)
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
	p, err := h.common.Adapter.GetPerson(ctx, userID)
	if err != nil && !errors.Is(err, adapter.ErrNotFound) { // deleted meanwhile
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
