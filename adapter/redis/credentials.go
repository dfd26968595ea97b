package redis

import (
	"context"

	"authsvc/adapter"
)

func (s *Store) credentialKey(kind adapter.CredentialKind, id string) []string {
	return []string{s.key("credential", pair(string(kind), id))}
}

// PutCredential implements [adapter.Adapter].
func (s *Store) PutCredential(ctx context.Context, c adapter.Credential, epoch int64, most int) error {
	if len(c.Data) > maxData {
		return errData
	}
	c.Version = 1
	keys := append(s.credentialKey(c.Kind, c.ID), s.key("user", c.UserID))
	return s.do(ctx, credentialPut, keys, append(credentialFields(c), epoch, most)...)
}

// GetCredential implements [adapter.Adapter].
func (s *Store) GetCredential(ctx context.Context, kind adapter.CredentialKind, id string) (adapter.Credential, error) {
	list, err := s.list(ctx, credentialGet, s.credentialKey(kind, id))
	if err != nil {
		return adapter.Credential{}, err
	}
	return row{list}.credential(), nil
}

// UpdateCredential implements [adapter.Adapter].
func (s *Store) UpdateCredential(ctx context.Context, c adapter.Credential) error {
	if len(c.Data) > maxData {
		return errData
	}
	return s.do(ctx, credentialUpdate, s.credentialKey(c.Kind, c.ID), credentialFields(c)...)
}

// TryCredential implements [adapter.Adapter].
func (s *Store) TryCredential(ctx context.Context, kind adapter.CredentialKind, id string, most int) error {
	return s.do(ctx, credentialTry, s.credentialKey(kind, id), most)
}

// DeleteCredential implements [adapter.Adapter].
func (s *Store) DeleteCredential(ctx context.Context, kind adapter.CredentialKind, id, userID string, r *adapter.Revocation) error {
	list, err := s.list(ctx, credentialDelete, s.credentialKey(kind, id), append([]any{string(kind), id, userID}, revocationFields(r)...)...)
	numbered(r, list, 0)
	return err
}

// DeleteCredentials implements [adapter.Adapter].
func (s *Store) DeleteCredentials(ctx context.Context, userID string, r *adapter.Revocation, kinds ...adapter.CredentialKind) (int, error) {
	args := append([]any{userID}, revocationFields(r)...)
	for _, kind := range kinds {
		args = append(args, string(kind))
	}
	list, err := s.list(ctx, credentialsDelete, []string{s.key("credentials", userID)}, args...)
	numbered(r, list, 1)
	return int(row{list}.number(0)), err
}
