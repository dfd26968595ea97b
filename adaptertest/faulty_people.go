package adaptertest

import (
	"context"

	"authsvc"
)

// GetPerson implements [authsvc.Adapter].
func (f *Fault) GetPerson(ctx context.Context, userID string) (authsvc.Person, error) {
	return ask(f, "GetPerson", func() (authsvc.Person, error) { return f.next.GetPerson(ctx, userID) })
}

// SetPerson implements [authsvc.Adapter].
func (f *Fault) SetPerson(ctx context.Context, userID string, change authsvc.PersonUpdate, r *authsvc.Revocation) error {
	return f.do("SetPerson", func() error { return f.next.SetPerson(ctx, userID, change, r) })
}

// PutCredential implements [authsvc.Adapter].
func (f *Fault) PutCredential(ctx context.Context, c authsvc.Credential, epoch int64, most int) error {
	return f.do("PutCredential", func() error { return f.next.PutCredential(ctx, c, epoch, most) })
}

// GetCredential implements [authsvc.Adapter].
func (f *Fault) GetCredential(ctx context.Context, kind authsvc.CredentialKind, id string) (authsvc.Credential, error) {
	return ask(f, "GetCredential", func() (authsvc.Credential, error) { return f.next.GetCredential(ctx, kind, id) })
}

// UpdateCredential implements [authsvc.Adapter].
func (f *Fault) UpdateCredential(ctx context.Context, c authsvc.Credential) error {
	return f.do("UpdateCredential", func() error { return f.next.UpdateCredential(ctx, c) })
}

// TryCredential implements [authsvc.Adapter].
func (f *Fault) TryCredential(ctx context.Context, kind authsvc.CredentialKind, id string, most int) error {
	return f.do("TryCredential", func() error { return f.next.TryCredential(ctx, kind, id, most) })
}

// DeleteCredential implements [authsvc.Adapter].
func (f *Fault) DeleteCredential(ctx context.Context, kind authsvc.CredentialKind, id, userID string, r *authsvc.Revocation) error {
	return f.do("DeleteCredential", func() error { return f.next.DeleteCredential(ctx, kind, id, userID, r) })
}

// DeleteCredentials implements [authsvc.Adapter].
func (f *Fault) DeleteCredentials(ctx context.Context, userID string, r *authsvc.Revocation, kinds ...authsvc.CredentialKind) (int, error) {
	return ask(f, "DeleteCredentials", func() (int, error) { return f.next.DeleteCredentials(ctx, userID, r, kinds...) })
}
