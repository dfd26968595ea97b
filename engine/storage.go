package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"authsvc"
)

// errNoStorage is wrapped by the errors of noAdapter.
var errNoStorage = errors.New("authsvc: without storage")

// useAdapter is the only place that asks whether there is an Adapter. Without
// one noAdapter stands in, and features that need records are off.
func useAdapter(b *builder, s *Service) {
	s.keeper.seen = newSeenSessions()
	s.keeper.revoked = newRevocations(b.config.StaleRevocations == authsvc.StaleRevocationsAccept)
	s.issuer.signing = &signing{}
	a := b.config.Adapter
	if a == nil {
		s.adapter, s.desk.admit, s.fleet.background.start = &noAdapter{newReplayCache()}, identity.unstored, func(context.Context) {}
		b.defaultStrategy = authsvc.StrategyJWT
		return
	}
	s.adapter, s.desk.admit, s.fleet.background.start = a, func(id identity) identity { return id }, s.startWorkers
	s.desk.confirms, s.accountRoom.on, s.desk.linksFresh = true, !b.config.Account.Disabled, s.dialect.linksFresh
	s.accountRoom.deletes = s.accountRoom.on && b.config.Account.Delete
	s.desk.linksAsked, s.desk.linksSignedIn, s.oauthRoom.tenantIDs, s.desk.cancelsOnce = true, s.dialect.linksSignedIn, s.dialect.tenantIDs, true
	s.keeper.revoked.enabled, s.issuer.signing.stored = true, true
	b.defaultStrategy = authsvc.StrategyDatabase
}

// inheritStorage takes over the replay cache of a service without storage.
func inheritStorage(to, before *given) {
	now, none := to.adapter.(*noAdapter)
	was, had := before.adapter.(*noAdapter)
	if none && had {
		now.replays = was.replays
	}
}

// unstored is an identity in a service that keeps no users: whoever signs in
// has the id of the account at the provider.
func (id identity) unstored() identity {
	id.stored, id.isNew = true, true
	if id.user.ID == "" {
		id.user.ID = id.account.ProviderAccountID
	}
	return id
}

// noAdapter stands in for the Adapter of a service without storage: it finds and
// stores nothing, and returns an error where that is not possible.
type noAdapter struct{ replays *replayCache }

// Errors of noAdapter. Each wraps errNoStorage.
var (
	errNothingStored = fmt.Errorf("%w nothing is kept", errNoStorage)
	errNoUsers       = fmt.Errorf("%w there are no users", errNoStorage)
	errNoAccounts    = fmt.Errorf("%w no accounts are kept", errNoStorage)
	errNoSessions    = fmt.Errorf("%w sessions cannot be ended from the server", errNoStorage)
)

func (*noAdapter) CreateUser(context.Context, authsvc.User) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}
func (*noAdapter) GetUser(context.Context, string) (authsvc.User, error) {
	return authsvc.User{}, fmt.Errorf("%w: %w", errNoUsers, authsvc.ErrNotFound)
}
func (*noAdapter) GetUserByEmail(context.Context, string) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}
func (*noAdapter) GetUserByAccount(context.Context, string, string) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}
func (*noAdapter) UpdateUser(context.Context, string, authsvc.UserUpdate) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}
func (*noAdapter) DeleteUser(context.Context, string, *authsvc.Revocation) error { return errNoUsers }
func (*noAdapter) GetEpoch(context.Context, string) (int64, error)               { return 0, nil }
func (*noAdapter) ListUsers(context.Context, string, int) ([]authsvc.User, error) {
	return nil, errNoAccounts
}
func (*noAdapter) SearchUsers(context.Context, authsvc.UserQuery) ([]authsvc.User, error) {
	return nil, errNoUsers
}

func (*noAdapter) GetPerson(context.Context, string) (authsvc.Person, error) {
	return authsvc.Person{}, errNoUsers
}
func (*noAdapter) SetPerson(context.Context, string, authsvc.PersonUpdate, *authsvc.Revocation) error {
	return errNoUsers
}
func (*noAdapter) PutCredential(context.Context, authsvc.Credential, int64, int) error {
	return errNoUsers
}
func (*noAdapter) GetCredential(context.Context, authsvc.CredentialKind, string) (authsvc.Credential, error) {
	return authsvc.Credential{}, errNoUsers
}
func (*noAdapter) UpdateCredential(context.Context, authsvc.Credential) error { return errNoUsers }
func (*noAdapter) TryCredential(context.Context, authsvc.CredentialKind, string, int) error {
	return errNoUsers
}
func (*noAdapter) DeleteCredential(context.Context, authsvc.CredentialKind, string, string, *authsvc.Revocation) error {
	return errNoUsers
}
func (*noAdapter) DeleteCredentials(context.Context, string, *authsvc.Revocation, ...authsvc.CredentialKind) (int, error) {
	return 0, errNoUsers
}

func (*noAdapter) LinkAccount(context.Context, authsvc.Account, int64) (authsvc.Account, error) {
	return authsvc.Account{}, errNoAccounts
}
func (*noAdapter) RefreshAccount(context.Context, authsvc.Account, int64) error { return errNoAccounts }
func (*noAdapter) ReplaceTokens(context.Context, authsvc.Account, authsvc.Account) error {
	return errNoAccounts
}
func (*noAdapter) ListAccounts(context.Context, string) ([]authsvc.Account, error) {
	return nil, errNoAccounts
}
func (*noAdapter) UnlinkAccount(context.Context, string, string, int64, *authsvc.Revocation) error {
	return errNoAccounts
}

func (*noAdapter) CreateSession(context.Context, authsvc.SessionRecord) (authsvc.SessionRecord, error) {
	return authsvc.SessionRecord{}, errNothingStored
}
func (*noAdapter) GetSession(context.Context, string, string) (authsvc.SessionRecord, authsvc.User, error) {
	return authsvc.SessionRecord{}, authsvc.User{}, errNothingStored
}
func (*noAdapter) UpdateSession(context.Context, authsvc.SessionRecord) error {
	return errNothingStored
}
func (*noAdapter) DeleteSession(context.Context, string) (authsvc.SessionRecord, error) {
	return authsvc.SessionRecord{}, errNothingStored
}
func (*noAdapter) DeleteSessionOf(context.Context, string, string) (authsvc.SessionRecord, error) {
	return authsvc.SessionRecord{}, errNothingStored
}
func (*noAdapter) TouchSessions(context.Context, []authsvc.SessionSeen) error {
	return errNothingStored
}
func (*noAdapter) ListSessions(context.Context, string) ([]authsvc.SessionRecord, error) {
	return nil, errNothingStored
}

func (*noAdapter) SignUp(context.Context, authsvc.User, *authsvc.Account, *authsvc.SessionRecord) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}
func (*noAdapter) ProveEmail(context.Context, authsvc.Proof) (authsvc.User, []authsvc.Account, error) {
	return authsvc.User{}, nil, errNoUsers
}
func (*noAdapter) EndSessions(context.Context, string, *authsvc.Revocation) (int, error) {
	return 0, errNoSessions
}

func (*noAdapter) PutToken(context.Context, authsvc.VerificationToken, authsvc.Mail, int) error {
	return errNothingStored
}
func (*noAdapter) PutMail(context.Context, authsvc.Mail, int) error { return errNothingStored }
func (*noAdapter) GetToken(context.Context, string, string) (authsvc.VerificationToken, error) {
	return authsvc.VerificationToken{}, errNothingStored
}
func (*noAdapter) TakeToken(context.Context, string, string) (authsvc.VerificationToken, error) {
	return authsvc.VerificationToken{}, errNothingStored
}
func (*noAdapter) VoidTokens(context.Context, string) error { return errNothingStored }
func (*noAdapter) ClaimMail(context.Context, time.Time, time.Time) (authsvc.Mail, error) {
	return authsvc.Mail{}, errNothingStored
}
func (*noAdapter) DelayMail(context.Context, string, time.Time) error { return errNothingStored }
func (*noAdapter) DeleteMail(context.Context, string) error           { return errNothingStored }

// UseOnce is for this process only.
func (n *noAdapter) UseOnce(_ context.Context, key string, expires time.Time) error {
	return n.replays.use(key, time.Now(), expires)
}

// Revoke does nothing: a JWT session that is signed out ends in that browser.
func (*noAdapter) Revoke(context.Context, ...*authsvc.Revocation) error { return nil }
func (*noAdapter) Revocations(context.Context, int64, int) ([]authsvc.Revocation, int64, error) {
	return nil, 0, errNothingStored
}

// Permit leaves it to the count of this process.
func (*noAdapter) Permit(context.Context, string, time.Time, time.Duration, time.Duration) (time.Duration, error) {
	return 0, errNothingStored
}
func (*noAdapter) Lease(context.Context, string, string, time.Time, time.Time) error { return nil }
func (*noAdapter) Release(context.Context, string, string) error                     { return nil }

func (*noAdapter) GetMeta(context.Context, string) (string, error) { return "", authsvc.ErrNotFound }
func (*noAdapter) PutMeta(_ context.Context, _, value string) (string, error) {
	return value, nil
}
func (*noAdapter) SetMeta(context.Context, string, string) error      { return errNothingStored }
func (*noAdapter) Sweep(context.Context, time.Time, int) (int, error) { return 0, errNothingStored }
func (*noAdapter) Ping(context.Context) error                         { return nil }

// openStore records the mode in a new store, and checks that of an old one.
func (h *storeys) openStore() error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	mode, err := h.adapter.PutMeta(ctx, metaCompat, string(h.dialect.mode))
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

// CheckStore returns why the configuration does not fit the store: it was used
// with another Config.Compat, or with another issuer under the id of a provider.
// The error is that of [New]. It writes nothing.
func (s *Service) CheckStore(ctx context.Context) error { return s.checkStore(ctx, "") }

// AcceptCompat records Config.Compat in the store, whatever it was used with, if
// CheckStore finds nothing else. Sessions and links of the old mode are not
// recognised after that. With dryRun nothing is written.
func (s *Service) AcceptCompat(ctx context.Context, dryRun bool) error {
	return s.acceptMeta(ctx, metaCompat, string(s.dialect.mode), dryRun)
}

// AcceptIssuer records the configured issuer of a provider in the store and
// returns it, if CheckStore finds nothing else. ErrNotFound: no provider with
// an issuer has that id. With dryRun nothing is written.
func (s *Service) AcceptIssuer(ctx context.Context, providerID string, dryRun bool) (issuer string, err error) {
	f := s.site.flows[providerID]
	if f == nil || f.info().issuer == "" {
		return "", authsvc.ErrNotFound
	}
	issuer = f.info().issuer
	return issuer, s.acceptMeta(ctx, metaIssuer+providerID, issuer, dryRun)
}

func (h *storeys) acceptMeta(ctx context.Context, key, value string, dryRun bool) error {
	if err := h.checkStore(ctx, key); err != nil || dryRun {
		return err
	}
	return h.adapter.SetMeta(ctx, key, value)
}

// checkStore checks the store's meta records, except one.
func (h *storeys) checkStore(ctx context.Context, except string) error {
	if except != metaCompat {
		mode, err := h.adapter.GetMeta(ctx, metaCompat)
		switch {
		case errors.Is(err, authsvc.ErrNotFound):
		case err != nil:
			return storeUnusable(err)
		default:
			if err := h.checkMode(mode); err != nil {
				return err
			}
		}
	}
	if err := h.fleet.measureClock(ctx); err != nil {
		return &authsvc.ConfigError{Field: "Adapter", Problem: "cannot be read: " + err.Error(), Fix: "check the store"}
	}
	return h.checkIssuers(ctx, except)
}

// checkMode compares the mode that the store was used with.
func (h *storeys) checkMode(mode string) error {
	want := string(h.dialect.mode)
	if mode == want {
		return nil
	}
	return &authsvc.ConfigError{Field: "Compat", Problem: "is " + want + ", but the store was used with " + mode,
		Fix: "change it back, or have the store converted by Service.AcceptCompat (ends all sessions)"}
}

// startRevocations reads the revocation log, for at most revokeStart. If that
// does not suffice, pollRevocations goes on, and JWT sessions are not accepted
// before it has reached the end.
func (kp *keeper) startRevocations(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, revokeStart)
	defer cancel()
	if err := kp.revoked.catchUp(ctx, kp.adapter, kp.fleet.now()); err != nil {
		kp.log.Warn("the log of revocations is still being read; JWT sessions are not accepted until that is done", "cause", err)
	}
}

// Keys of the store's meta records.
const (
	metaCompat = "compat"
	metaIssuer = "issuer:" // + provider id
	metaKeys   = "signing-keys"
)

// checkIssuers refuses a provider id that now means another issuer: the
// account ids in the store would be somebody else's.
func (h *storeys) checkIssuers(ctx context.Context, except string) error {
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(h.site.flows)) {
		in := h.site.flows[id].info()
		issuer := in.issuer
		if issuer == "" || metaIssuer+id == except {
			continue
		}
		known, err := h.adapter.GetMeta(ctx, metaIssuer+id)
		if errors.Is(err, authsvc.ErrNotFound) {
			continue
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case known != issuer && in.hostOnly:
			h.log.Warn("a provider without an issuer sends people elsewhere than when accounts were stored; if that is another service, its accounts would be somebody else's",
				"provider", id, "was", known, "is", issuer, "accept", "Service.AcceptIssuer")
		case known != issuer:
			errs = append(errs, &authsvc.ConfigError{Field: fmt.Sprintf("Providers[%d]", h.site.positions[id]), Problem: "was at " + known + " when accounts were stored, and is now at " + issuer,
				Fix: "give the new issuer an id of its own, or accept it with Service.AcceptIssuer"})
		}
	}
	return errors.Join(errs...)
}
