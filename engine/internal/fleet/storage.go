package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"authsvc"
	"authsvc/adapter"
)

// ErrNoStorage marks errors of a service without storage.
var ErrNoStorage = errors.New("authsvc: without storage")

// InheritStorage takes over the replay cache from before if both services have no
// storage.
func (g *Common) InheritStorage(before *Common) {
	now, none := g.Adapter.(*noAdapter)
	was, had := before.Adapter.(*noAdapter)
	if none && had {
		now.replays = was.replays
	}
}

// noAdapter is the Adapter of a service without storage. It stores only the keys of
// UseOnce, in memory. Methods that cannot work without storage return an error.
type noAdapter struct{ replays *ReplayCache }

// NoStorage returns the Adapter of a service without storage.
func NoStorage() adapter.Adapter { return &noAdapter{NewReplayCache()} }

// Stores reports whether the service has storage.
func (g *Common) Stores() bool {
	_, none := g.Adapter.(*noAdapter)
	return !none
}

// Errors of noAdapter. Each wraps ErrNoStorage.
var (
	errNothingStored = fmt.Errorf("%w nothing is kept", ErrNoStorage)
	errNoUsers       = fmt.Errorf("%w there are no users", ErrNoStorage)
	errNoAccounts    = fmt.Errorf("%w no accounts are kept", ErrNoStorage)
	errNoSessions    = fmt.Errorf("%w sessions cannot be ended from the server", ErrNoStorage)
)

func (*noAdapter) CreateUser(context.Context, authsvc.User, *adapter.Revocation) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}

func (*noAdapter) GetUser(context.Context, string) (authsvc.User, error) {
	return authsvc.User{}, fmt.Errorf("%w: %w", errNoUsers, adapter.ErrNotFound)
}

func (*noAdapter) GetUserByEmail(context.Context, string) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}

func (*noAdapter) GetUserByAccount(context.Context, string, string) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}

func (*noAdapter) UpdateUser(context.Context, string, adapter.UserUpdate) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}

func (*noAdapter) DeleteUser(context.Context, string, *adapter.Revocation) error { return errNoUsers }

func (*noAdapter) GetEpoch(context.Context, string) (int64, error) { return 0, nil }

func (*noAdapter) ListUsers(context.Context, string, int) ([]authsvc.User, error) {
	return nil, errNoAccounts
}

func (*noAdapter) SearchUsers(context.Context, adapter.UserQuery) ([]authsvc.User, error) {
	return nil, errNoUsers
}

func (*noAdapter) GetPerson(context.Context, string) (adapter.Person, error) {
	return adapter.Person{}, errNoUsers
}

func (*noAdapter) SetPerson(context.Context, string, adapter.PersonUpdate, *adapter.Revocation) error {
	return errNoUsers
}

func (*noAdapter) PutCredential(context.Context, adapter.Credential, int64, int) error {
	return errNoUsers
}

func (*noAdapter) GetCredential(context.Context, adapter.CredentialKind, string) (adapter.Credential, error) {
	return adapter.Credential{}, errNoUsers
}

func (*noAdapter) UpdateCredential(context.Context, adapter.Credential) error { return errNoUsers }

func (*noAdapter) TryCredential(context.Context, adapter.CredentialKind, string, int) error {
	return errNoUsers
}

func (*noAdapter) DeleteCredential(context.Context, adapter.CredentialKind, string, string, *adapter.Revocation) error {
	return errNoUsers
}

func (*noAdapter) DeleteCredentials(context.Context, string, *adapter.Revocation, ...adapter.CredentialKind) (int, error) {
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

func (*noAdapter) UnlinkAccount(context.Context, string, string, int64, *adapter.Revocation) error {
	return errNoAccounts
}

func (*noAdapter) CreateSession(context.Context, adapter.SessionRecord) (adapter.SessionRecord, error) {
	return adapter.SessionRecord{}, errNothingStored
}

func (*noAdapter) GetSession(context.Context, string, string) (adapter.SessionRecord, authsvc.User, error) {
	return adapter.SessionRecord{}, authsvc.User{}, errNothingStored
}

func (*noAdapter) UpdateSession(context.Context, adapter.SessionRecord) error {
	return errNothingStored
}

func (*noAdapter) DeleteSession(context.Context, string) (adapter.SessionRecord, error) {
	return adapter.SessionRecord{}, errNothingStored
}

func (*noAdapter) DeleteSessionOf(context.Context, string, string) (adapter.SessionRecord, error) {
	return adapter.SessionRecord{}, errNothingStored
}

func (*noAdapter) TouchSessions(context.Context, []adapter.SessionSeen) error {
	return errNothingStored
}

func (*noAdapter) ListSessions(context.Context, string) ([]adapter.SessionRecord, error) {
	return nil, errNothingStored
}

func (*noAdapter) SignUp(context.Context, authsvc.User, *authsvc.Account, *adapter.SessionRecord, string, *adapter.Revocation) (authsvc.User, error) {
	return authsvc.User{}, errNoUsers
}

func (*noAdapter) ProveEmail(context.Context, adapter.Proof) (authsvc.User, []authsvc.Account, error) {
	return authsvc.User{}, nil, errNoUsers
}

func (*noAdapter) EndSessions(context.Context, string, *adapter.Revocation) (int, error) {
	return 0, errNoSessions
}

func (*noAdapter) PutToken(context.Context, adapter.VerificationToken, adapter.Mail, int) error {
	return errNothingStored
}

func (*noAdapter) PutMail(context.Context, adapter.Mail, int) error { return errNothingStored }

func (*noAdapter) GetToken(context.Context, string, string) (adapter.VerificationToken, error) {
	return adapter.VerificationToken{}, errNothingStored
}

func (*noAdapter) TakeToken(context.Context, string, string, time.Time) (adapter.VerificationToken, adapter.User, error) {
	return adapter.VerificationToken{}, adapter.User{}, errNothingStored
}

func (*noAdapter) VoidTokens(context.Context, string) error { return errNothingStored }

func (*noAdapter) ClaimMail(context.Context, time.Time, time.Time) (adapter.Mail, error) {
	return adapter.Mail{}, errNothingStored
}

func (*noAdapter) DelayMail(context.Context, string, time.Time) error { return errNothingStored }

func (*noAdapter) DeleteMail(context.Context, string) error { return errNothingStored }

// UseOnce covers this process only.
func (n *noAdapter) UseOnce(_ context.Context, key string, expires time.Time) error {
	return n.replays.Use(key, time.Now(), expires)
}

// Revoke does nothing: signing out of a JWT session ends it in that browser only.
func (*noAdapter) Revoke(context.Context, ...*adapter.Revocation) error { return nil }

func (*noAdapter) Revocations(context.Context, int64, int) ([]adapter.Revocation, int64, error) {
	return nil, 0, errNothingStored
}

// Permit leaves the decision to the count of this process.
func (*noAdapter) Permit(context.Context, time.Time, ...adapter.Quota) (int, time.Duration, error) {
	return 0, 0, errNothingStored
}

func (*noAdapter) Lease(context.Context, string, string, time.Time, time.Time) error { return nil }

func (*noAdapter) Release(context.Context, string, string) error { return nil }

func (*noAdapter) GetMeta(context.Context, string) (string, error) { return "", adapter.ErrNotFound }

func (*noAdapter) PutMeta(_ context.Context, _, value string) (string, error) {
	return value, nil
}

func (*noAdapter) SetMeta(context.Context, string, string) error { return errNothingStored }

func (*noAdapter) Sweep(context.Context, time.Time, int) (int, error) { return 0, errNothingStored }

func (*noAdapter) Ping(context.Context) error { return nil }
