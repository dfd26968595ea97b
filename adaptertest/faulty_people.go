package adaptertest

import (
	"context"

	"authsvc/adapter"
)

// GetPerson implements [adapter.Adapter].
func (f *Fault) GetPerson(ctx context.Context, userID string) (adapter.Person, error) {
	return ask(f, "GetPerson", func() (adapter.Person, error) { return f.next.GetPerson(ctx, userID) })
}

// SetPerson implements [adapter.Adapter].
func (f *Fault) SetPerson(ctx context.Context, userID string, change adapter.PersonUpdate, r *adapter.Revocation) error {
	return f.do("SetPerson", func() error { return f.next.SetPerson(ctx, userID, change, r) })
}

// PutCredential implements [adapter.Adapter].
func (f *Fault) PutCredential(ctx context.Context, c adapter.Credential, epoch int64, most int) error {
	return f.do("PutCredential", func() error { return f.next.PutCredential(ctx, c, epoch, most) })
}

// GetCredential implements [adapter.Adapter].
func (f *Fault) GetCredential(ctx context.Context, kind adapter.CredentialKind, id string) (adapter.Credential, error) {
	return ask(f, "GetCredential", func() (adapter.Credential, error) { return f.next.GetCredential(ctx, kind, id) })
}

// UpdateCredential implements [adapter.Adapter].
func (f *Fault) UpdateCredential(ctx context.Context, c adapter.Credential) error {
	return f.do("UpdateCredential", func() error { return f.next.UpdateCredential(ctx, c) })
}

// TryCredential implements [adapter.Adapter].
func (f *Fault) TryCredential(ctx context.Context, kind adapter.CredentialKind, id string, most int) error {
	return f.do("TryCredential", func() error { return f.next.TryCredential(ctx, kind, id, most) })
}

// DeleteCredential implements [adapter.Adapter].
func (f *Fault) DeleteCredential(ctx context.Context, kind adapter.CredentialKind, id, userID string, r *adapter.Revocation) error {
	return f.do("DeleteCredential", func() error { return f.next.DeleteCredential(ctx, kind, id, userID, r) })
}

// DeleteCredentials implements [adapter.Adapter].
func (f *Fault) DeleteCredentials(ctx context.Context, userID string, r *adapter.Revocation, kinds ...adapter.CredentialKind) (int, error) {
	return ask(f, "DeleteCredentials", func() (int, error) { return f.next.DeleteCredentials(ctx, userID, r, kinds...) })
}
