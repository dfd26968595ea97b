package dev

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
)

// The port of dev's identity provider follows the port of the service, but its people
// stay the same. So dev accepts that its issuer has changed since accounts were stored.

// AcceptIssuer records issuer, that of dev's identity provider, for the providers of c
// that use it, if the store has an earlier issuer of dev. It also changes the pictures
// of users that the earlier issuer served. It leaves other issuers and mistakes in c to
// [engine.New], which reports them.
func AcceptIssuer(ctx context.Context, c authsvc.Config, issuer string) error {
	return eachMoved(ctx, c, issuer, func(o *engine.Operator, p *authsvc.OAuth, stored string) error {
		if err := movePictures(ctx, c.Adapter, stored, issuer); err != nil {
			return err
		}
		_, err := o.AcceptIssuer(ctx, p.ID, false)
		return err
	})
}

// movePictures changes the pictures of users that an earlier issuer of dev served.
func movePictures(ctx context.Context, a adapter.Adapter, before, now string) error {
	const limit = 500
	for after := ""; ; {
		page, err := a.ListUsers(ctx, after, limit)
		if err != nil {
			return err
		}
		for _, u := range page {
			after = u.ID
			file, found := strings.CutPrefix(u.Image, before+idp.AvatarPath)
			if !found {
				continue
			}
			image := now + idp.AvatarPath + file
			if _, err := a.UpdateUser(ctx, u.ID, adapter.UserUpdate{Image: &image}); err != nil && !errors.Is(err, adapter.ErrNotFound) {
				return err
			}
		}
		if len(page) < limit {
			return nil
		}
	}
}

// UseStoredIssuer is AcceptIssuer for programs that only use the records of dev: it
// changes the providers of c instead of the store.
func UseStoredIssuer(ctx context.Context, c authsvc.Config, issuer string) error {
	return eachMoved(ctx, c, issuer, func(_ *engine.Operator, p *authsvc.OAuth, stored string) error {
		p.Issuer = stored
		return nil
	})
}

// eachMoved calls do for each provider of c at issuer for which the store has an earlier
// issuer of dev.
func eachMoved(ctx context.Context, c authsvc.Config, issuer string, do func(o *engine.Operator, p *authsvc.OAuth, stored string) error) error {
	c.Logger = slog.New(slog.DiscardHandler) // the engine logs its warnings at the start
	o, err := engine.NewOperator(c)
	if err != nil || c.Adapter == nil {
		return nil //nolint:nilerr // engine.New reports the mistakes
	}
	for _, p := range c.Providers {
		p, ok := p.(*authsvc.OAuth)
		if !ok || p.Issuer != issuer {
			continue
		}
		stored, err := o.StoredIssuer(ctx, p.ID)
		if err == nil && stored != issuer && issuerOfDev(stored) {
			err = do(o, p, stored)
		}
		if err != nil && !errors.Is(err, adapter.ErrNotFound) {
			return err
		}
	}
	return nil
}

// issuerOfDev reports whether a URL has the form of dev's issuers: a loopback address
// and port without a path or, with Options.Shared, idpPath at some origin.
func issuerOfDev(url string) bool {
	host, plain := strings.CutPrefix(url, "http://")
	addr, err := netip.ParseAddrPort(host)
	return plain && err == nil && addr.Addr().IsLoopback() || strings.HasSuffix(url, idpPath)
}
