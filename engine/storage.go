package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"authsvc/engine/internal/fleet"

	"authsvc"
	"authsvc/adapter"
)

// useAdapter sets the service up with its Adapter. Without one, it uses
// [fleet.NoStorage] and leaves features that need records off, so that other code rarely
// needs to ask whether there is an Adapter.
func useAdapter(b *builder, s *Service) {
	s.keeper.seen = newSeenSessions()
	s.keeper.revoked = newRevocations(b.config.StaleRevocations == authsvc.StaleRevocationsAccept)
	s.issuer.signing = &signing{}
	a := b.config.Adapter
	if a == nil {
		s.common.Adapter, s.desk.admit, s.start = fleet.NoStorage(), identity.unstored, func() {}
		b.defaultStrategy = authsvc.StrategyJWT
		return
	}
	s.common.Adapter, s.desk.admit, s.start = a, func(id identity) identity { return id }, s.startWorkers
	s.desk.canStepUp, s.accountRoom.on, s.desk.linksFresh = true, !b.config.Account.Disabled, s.site.dialect.linksFresh
	s.accountRoom.deletes = s.accountRoom.on && b.config.Account.Delete
	s.desk.linksAsked, s.desk.linksSignedIn, s.oauthRoom.tenantIDs, s.desk.cancelsOnce = true, s.site.dialect.linksSignedIn, s.site.dialect.tenantIDs, true
	s.keeper.revoked.enabled, s.issuer.signing.stored = true, true
	b.defaultStrategy = authsvc.StrategyDatabase
}

// unstored adapts an identity to a service that keeps no users. A user then has the id
// of the account at the provider.
func (id identity) unstored() identity {
	id.stored, id.isNew = true, true
	if id.user.ID == "" {
		id.user.ID = id.account.ProviderAccountID
	}
	return id
}

// openStore records the mode in a new store and checks the mode of an existing one. It
// then reads the revocations and opens the signing keys.
func (h *storeys) openStore() error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	mode, err := h.common.Adapter.PutMeta(ctx, metaCompat, string(h.site.dialect.mode))
	if err != nil {
		return storeUnusable(err)
	}
	if err := h.checkMode(mode); err != nil {
		return err
	}
	if err := h.checkStore(ctx, metaCompat); err != nil {
		return err
	}
	h.keeper.startRevocations(ctx)
	return h.issuer.openSigningKeys(ctx)
}

func (h *storeys) acceptMeta(ctx context.Context, key, value string, dryRun bool) error {
	if err := h.checkStore(ctx, key); err != nil || dryRun {
		return err
	}
	return h.common.Adapter.SetMeta(ctx, key, value)
}

// checkStore checks the store's meta records, except one. If that is the issuer of a
// provider, it checks no issuer, so that several can be accepted one after the other.
func (h *storeys) checkStore(ctx context.Context, except string) error {
	if except != metaCompat {
		mode, err := h.common.Adapter.GetMeta(ctx, metaCompat)
		switch {
		case errors.Is(err, adapter.ErrNotFound):
		case err != nil:
			return storeUnusable(err)
		default:
			if err := h.checkMode(mode); err != nil {
				return err
			}
		}
	}
	if err := h.fleet.MeasureClock(ctx); err != nil {
		return &authsvc.ConfigError{Field: "Adapter", Problem: "cannot be read: " + err.Error(), Fix: "check the store"}
	}
	if strings.HasPrefix(except, metaIssuer) {
		return nil
	}
	return h.checkIssuers(ctx)
}

// checkMode checks that the store was used with the configured mode.
func (h *storeys) checkMode(mode string) error {
	want := string(h.site.dialect.mode)
	if mode == want {
		return nil
	}
	return &authsvc.ConfigError{Code: "compat_changed", Field: "Compat", Problem: "is " + want + ", but the store was used with " + mode,
		Fix: "change it back, or convert the store with Operator.AcceptCompat (ends all sessions)"}
}

// Keys of the store's meta records.
const (
	metaCompat = "compat"
	metaIssuer = "issuer:" // + provider id
	metaKeys   = "signing-keys"
)

// checkIssuers refuses a provider id that now means another issuer: the account ids in
// the store would belong to other people.
func (h *storeys) checkIssuers(ctx context.Context) error {
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(h.site.flows)) {
		in := h.site.flows[id].info()
		issuer := in.issuer
		if issuer == "" {
			continue
		}
		known, err := h.common.Adapter.GetMeta(ctx, metaIssuer+id)
		if errors.Is(err, adapter.ErrNotFound) {
			continue
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case known != issuer && in.hostOnly:
			h.common.Log.Warn("a provider without an issuer has another address than when accounts were stored; if that is another service, its accounts would match those of other people",
				"provider", id, "was", known, "is", issuer, "accept", "Operator.AcceptIssuer")
		case known != issuer:
			errs = append(errs, &authsvc.ConfigError{Code: "issuer_changed", Field: fmt.Sprintf("Providers[%d]", h.site.positions[id]), Problem: "was at " + known + " when accounts were stored, and is now at " + issuer,
				Fix: "give the new issuer an id of its own, or accept it with Operator.AcceptIssuer"})
		}
	}
	return errors.Join(errs...)
}
