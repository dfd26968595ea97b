package authsvc

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errNoStorage is the beginning of what noAdapter cannot do.
var errNoStorage = errors.New("authsvc: without storage")

// useAdapter is where the question is asked whether there is an Adapter.
// Without one noAdapter stands in, and what needs records is off.
func useAdapter(b *builder, s *Service) {
	s.revoked = newRevocations(b.config.StaleRevocations == "accept")
	a := b.config.Adapter
	if a == nil {
		s.adapter, s.policy.admit, s.background.start = &noAdapter{newReplayCache()}, identity.unstored, func(context.Context) {}
		b.defaultStrategy = "jwt"
		return
	}
	s.adapter, s.policy.admit, s.background.start = a, func(id identity) identity { return id }, s.workOnStore
	s.policy.linksAsked, s.policy.linksSignedIn, s.policy.tenantIDs, s.policy.cancelsOnce = true, s.dialect.linksSignedIn, s.dialect.tenantIDs, true
	s.revoked.kept = true
	b.defaultStrategy = "database"
}

// inheritStorage takes over what a service without storage keeps in mind.
func (s *Service) inheritStorage(before *Service) {
	now, none := s.adapter.(*noAdapter)
	was, had := before.adapter.(*noAdapter)
	if none && had {
		now.replays = was.replays
	}
}

// needStorage records a mistake if there is none.
func (b *builder) needStorage(key, problem, fix string) {
	if b.config.Adapter == nil {
		b.fail(key, problem, fix)
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

// noAdapter stands in for the Adapter of a service without storage: it finds
// nothing, keeps nothing, and fails where that cannot be.
type noAdapter struct{ replays *replayCache }

// What noAdapter answers. Each Is errNoStorage.
var (
	errNothingKept = fmt.Errorf("%w nothing is kept", errNoStorage)
	errNoUsers     = fmt.Errorf("%w there are no users", errNoStorage)
	errNoAccounts  = fmt.Errorf("%w no accounts are kept", errNoStorage)
	errNoSessions  = fmt.Errorf("%w sessions cannot be ended from the server", errNoStorage)
)

func (*noAdapter) CreateUser(context.Context, User) (User, error)       { return User{}, errNoUsers }
func (*noAdapter) GetUser(context.Context, string) (User, error)        { return User{}, errNoUsers }
func (*noAdapter) GetUserByEmail(context.Context, string) (User, error) { return User{}, errNoUsers }
func (*noAdapter) GetUserByAccount(context.Context, string, string) (User, error) {
	return User{}, errNoUsers
}
func (*noAdapter) UpdateUser(context.Context, string, UserUpdate) (User, error) {
	return User{}, errNoUsers
}
func (*noAdapter) DeleteUser(context.Context, string, *Revocation) error { return errNoUsers }
func (*noAdapter) GetEpoch(context.Context, string) (int64, error)       { return 0, nil }
func (*noAdapter) ListUsers(context.Context, string, int) ([]User, error) {
	return nil, errNoAccounts
}

func (*noAdapter) LinkAccount(context.Context, Account, int64) (Account, error) {
	return Account{}, errNoAccounts
}
func (*noAdapter) RefreshAccount(context.Context, Account, int64) error    { return errNoAccounts }
func (*noAdapter) ReplaceTokens(context.Context, Account, Account) error   { return errNoAccounts }
func (*noAdapter) ListAccounts(context.Context, string) ([]Account, error) { return nil, errNoAccounts }
func (*noAdapter) UnlinkAccount(context.Context, string, string, *Revocation) error {
	return errNoAccounts
}

func (*noAdapter) CreateSession(context.Context, SessionRecord) (SessionRecord, error) {
	return SessionRecord{}, errNothingKept
}
func (*noAdapter) GetSession(context.Context, string, string) (SessionRecord, User, error) {
	return SessionRecord{}, User{}, errNothingKept
}
func (*noAdapter) UpdateSession(context.Context, SessionRecord) error { return errNothingKept }
func (*noAdapter) DeleteSession(context.Context, string) (SessionRecord, error) {
	return SessionRecord{}, errNothingKept
}
func (*noAdapter) ListSessions(context.Context, string) ([]SessionRecord, error) {
	return nil, errNothingKept
}

func (*noAdapter) SignUp(context.Context, User, *Account, *SessionRecord) (User, error) {
	return User{}, errNoUsers
}
func (*noAdapter) ProveEmail(context.Context, Proof) (User, []Account, error) {
	return User{}, nil, errNoUsers
}
func (*noAdapter) EndSessions(context.Context, string, *Revocation) (int, error) {
	return 0, errNoSessions
}

func (*noAdapter) PutToken(context.Context, VerificationToken, Mail, int) error {
	return errNothingKept
}
func (*noAdapter) TakeToken(context.Context, string, string) (VerificationToken, error) {
	return VerificationToken{}, errNothingKept
}
func (*noAdapter) VoidTokens(context.Context, string) error { return errNothingKept }
func (*noAdapter) ClaimMail(context.Context, time.Time, time.Time) (Mail, error) {
	return Mail{}, errNothingKept
}
func (*noAdapter) DelayMail(context.Context, string, time.Time) error { return errNothingKept }
func (*noAdapter) DeleteMail(context.Context, string) error           { return errNothingKept }

// UseOnce is for this process only.
func (n *noAdapter) UseOnce(_ context.Context, key string, expires time.Time) error {
	return n.replays.use(key, time.Now(), expires)
}

// Revoke does nothing: a JWT session that is signed out ends in that browser.
func (*noAdapter) Revoke(context.Context, ...*Revocation) error { return nil }
func (*noAdapter) Revocations(context.Context, int64, int) ([]Revocation, int64, error) {
	return nil, 0, errNothingKept
}

// Permit leaves it to the count of this process.
func (*noAdapter) Permit(context.Context, string, time.Time, time.Duration, time.Duration) (time.Duration, error) {
	return 0, errNothingKept
}
func (*noAdapter) Lease(context.Context, string, string, time.Time, time.Time) error { return nil }
func (*noAdapter) Release(context.Context, string, string) error                     { return nil }

func (*noAdapter) GetMeta(context.Context, string) (string, error) { return "", ErrNotFound }
func (*noAdapter) PutMeta(_ context.Context, _, value string) (string, error) {
	return value, nil
}
func (*noAdapter) SetMeta(context.Context, string, string) error      { return errNothingKept }
func (*noAdapter) Sweep(context.Context, time.Time, int) (int, error) { return 0, errNothingKept }
func (*noAdapter) Ping(context.Context) error                         { return nil }
