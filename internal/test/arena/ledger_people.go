package arena

import (
	"context"

	"authsvc"
	"authsvc/adapter"
)

func (l *Ledger) SearchUsers(ctx context.Context, q adapter.UserQuery) ([]authsvc.User, error) {
	return step(l, "SearchUsers", false, q, func() ([]authsvc.User, error) { return l.Behind.SearchUsers(ctx, q) })
}

func (l *Ledger) GetPerson(ctx context.Context, userID string) (adapter.Person, error) {
	return step(l, "GetPerson", false, userID, func() (adapter.Person, error) { return l.Behind.GetPerson(ctx, userID) })
}

func (l *Ledger) SetPerson(ctx context.Context, userID string, change adapter.PersonUpdate, r *adapter.Revocation) error {
	_, err := step(l, "SetPerson", true, userID, func() (nothing, error) { return only(l.Behind.SetPerson(ctx, userID, change, r)) })
	return err
}

func (l *Ledger) PutCredential(ctx context.Context, c adapter.Credential, epoch int64, most int) error {
	_, err := step(l, "PutCredential", true, c, func() (nothing, error) { return only(l.Behind.PutCredential(ctx, c, epoch, most)) })
	return err
}

func (l *Ledger) GetCredential(ctx context.Context, kind adapter.CredentialKind, id string) (adapter.Credential, error) {
	return step(l, "GetCredential", false, id, func() (adapter.Credential, error) { return l.Behind.GetCredential(ctx, kind, id) })
}

func (l *Ledger) UpdateCredential(ctx context.Context, c adapter.Credential) error {
	_, err := step(l, "UpdateCredential", true, c, func() (nothing, error) { return only(l.Behind.UpdateCredential(ctx, c)) })
	return err
}

func (l *Ledger) TryCredential(ctx context.Context, kind adapter.CredentialKind, id string, most int) error {
	_, err := step(l, "TryCredential", true, id, func() (nothing, error) { return only(l.Behind.TryCredential(ctx, kind, id, most)) })
	return err
}

func (l *Ledger) DeleteCredential(ctx context.Context, kind adapter.CredentialKind, id, userID string, r *adapter.Revocation) error {
	_, err := step(l, "DeleteCredential", true, id, func() (nothing, error) { return only(l.Behind.DeleteCredential(ctx, kind, id, userID, r)) })
	return err
}

func (l *Ledger) DeleteCredentials(ctx context.Context, userID string, r *adapter.Revocation, kinds ...adapter.CredentialKind) (int, error) {
	return step(l, "DeleteCredentials", true, userID, func() (int, error) { return l.Behind.DeleteCredentials(ctx, userID, r, kinds...) })
}

func (l *Ledger) DeleteSessionOf(ctx context.Context, userID, digest string) (adapter.SessionRecord, error) {
	return step(l, "DeleteSessionOf", true, digest, func() (adapter.SessionRecord, error) { return l.Behind.DeleteSessionOf(ctx, userID, digest) })
}

// TouchSessions runs in the background.
func (l *Ledger) TouchSessions(ctx context.Context, seen []adapter.SessionSeen) error {
	_, err := step(l, "TouchSessions", true, nil, func() (nothing, error) { return only(l.Behind.TouchSessions(ctx, seen)) })
	return err
}

func (l *Ledger) PutMail(ctx context.Context, m adapter.Mail, maxQueued int) error {
	_, err := step(l, "PutMail", true, m.ID, func() (nothing, error) { return only(l.Behind.PutMail(ctx, m, maxQueued)) })
	return err
}
