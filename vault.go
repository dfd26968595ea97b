package authsvc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"authsvc/internal/seal"
)

// A vault is how the tokens of identity providers are kept in the store.
type vault struct {
	box  *seal.Box
	seal bool // else they are kept as they came
	drop bool // not at all
}

// sealedToken begins every sealed token. No provider's begins so, therefore
// rows that are not sealed can be read beside those that are.
const sealedToken = "authsvc.sealed."

// refusedToken stands in the store for a refresh token that the provider
// refused. The contract of RefreshAccount has no way to remove one, and a
// provider that is presented a spent token time and again may lock the client
// out. No provider's token begins so.
const refusedToken = "authsvc.refused"

// checkVault reads Config.ProviderTokens.
func checkVault(b *builder, s *Service) {
	s.vault.seal = s.compat == CompatNone
	switch b.config.ProviderTokens {
	case "":
	case "sealed":
		s.vault.seal = true
	case "plain":
		s.vault.seal = false
	case "drop":
		s.vault.drop = true
	default:
		b.fail("storage.provider_tokens", fmt.Sprintf("%q is not known", printable(b.config.ProviderTokens, 30)), "use sealed, plain or drop")
	}
}

// keep returns the account as it is stored.
func (v *vault) keep(a Account) Account {
	if v.drop {
		a.RefreshToken, a.AccessToken, a.IDToken, a.ExpiresAt = "", "", "", 0
	}
	if !v.seal {
		return a
	}
	for name, token := range tokensOf(&a) {
		if *token != "" {
			*token = sealedToken + v.box.Seal(*token, a.Provider, a.ProviderAccountID, name)
		}
	}
	return a
}

// open returns a stored account with its tokens readable. A refresh token that
// the provider refused is none.
func (v *vault) open(a Account) (Account, error) {
	a, err := v.read(a)
	if a.RefreshToken == refusedToken {
		a.RefreshToken = ""
	}
	return a, err
}

// read is open, but keeps refusedToken. Tokens are tied to their account and
// field, so that whoever can write rows cannot have one account show the tokens
// of another.
func (v *vault) read(a Account) (Account, error) {
	for name, token := range tokensOf(&a) {
		sealed, is := strings.CutPrefix(*token, sealedToken)
		if !is {
			continue
		}
		text, _, err := v.box.Open(sealed, a.Provider, a.ProviderAccountID, name)
		if err != nil {
			return Account{}, fmt.Errorf("authsvc: the %s of the account at %s cannot be opened: the secret that sealed it is no longer configured, or the row was changed", name, a.Provider)
		}
		*token = text
	}
	return a, nil
}

// tokensOf are the fields of an account that are worth stealing.
func tokensOf(a *Account) map[string]*string {
	return map[string]*string{"refresh_token": &a.RefreshToken, "access_token": &a.AccessToken, "id_token": &a.IDToken}
}

// Accounts returns the accounts of a user with the tokens that providers gave
// at the last sign-in, as Config.ProviderTokens says: opened, if they are
// sealed. A user that does not exist has none. The error names every token
// that cannot be opened; the other accounts are returned.
func (s *Service) Accounts(ctx context.Context, userID string) ([]Account, error) {
	if s.adapter == nil {
		return nil, errors.New("authsvc: without storage no accounts are kept")
	}
	stored, err := s.adapter.ListAccounts(ctx, userID)
	if err != nil {
		return nil, err
	}
	var list []Account
	var errs []error
	for _, a := range stored {
		opened, err := s.vault.open(a)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, opened)
	}
	return list, errors.Join(errs...)
}
