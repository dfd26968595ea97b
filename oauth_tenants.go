package authsvc

import (
	"context"
	"errors"

	"authsvc/internal/oidc"
)

// A formerID is another id under which the account of an identity may be in the
// store. The zero value is none.
type formerID struct {
	id string
	// issuer, if not empty, is whose ID token the account there must have.
	issuer string
}

// checkTenants: which tenant a person is of says only an ID token, and unless
// subjects are pairwise, anybody's tenant may give out the sub of somebody
// else.
func (f *oauthFlow) checkTenants(b *builder) {
	switch {
	case !oidc.MultiTenant(f.Issuer):
	case !f.openID:
		b.fail("issuer", "stands for several tenants, which only an ID token tells apart", "use OpenID Connect (type: oidc), or name one issuer")
	case len(f.Tenants) == 0 && !f.PairwiseSubject:
		b.fail("tenants", "is missing, and the issuer stands for any tenant: one of them may give out the sub of another's people",
			"list the tenants to accept, or name the issuer of one")
	}
}

// accountID is the id of a person's account, made of the id in the profile and
// the verified claims. Where the issuer stands for several tenants it begins
// with that of the person, as in "TENANT/ID".
//
// Earlier versions stored the id alone, and so do NextAuth.js and services
// without storage, whose users it names: that stays if it is a pairwise
// subject, which no two tenants share. Such an account is found in either form,
// so that the mode and the tenants may change. Any other id that stands alone
// may be of a person in another tenant: the account counts only if the ID token
// that is stored with it is of the same issuer.
func (f *oauthFlow) accountID(s *Service, claims Profile, id string) (string, formerID) {
	many, pairwise := oidc.MultiTenant(f.Issuer), f.PairwiseSubject && f.subjectIsID()
	tenant := text(claims["tid"])
	if tenant == "" || !many && !pairwise {
		return id, formerID{}
	}
	full := tenant + "/" + id
	switch {
	case !pairwise:
		return full, formerID{id: id, issuer: text(claims["iss"])}
	case many && s.policy.tenantIDs:
		return full, formerID{id: id}
	}
	return id, formerID{id: full}
}

// subjectIsID reports whether the id in the profile is the claim sub.
func (f *oauthFlow) subjectIsID() bool {
	return f.MapProfile == nil && (f.Fields.ID == "" || f.Fields.ID == "sub")
}

// userByAccount finds the user who has an identity, and the id that its account
// is stored under.
func (s *Service) userByAccount(ctx context.Context, provider, id string, former formerID) (User, string, error) {
	u, err := s.adapter.GetUserByAccount(ctx, provider, id)
	if former.id == "" || !errors.Is(err, ErrNotFound) {
		return u, id, err
	}
	if u, err = s.adapter.GetUserByAccount(ctx, provider, former.id); err != nil || former.issuer == "" {
		return u, former.id, err
	}
	all, err := s.adapter.ListAccounts(ctx, u.ID)
	if err != nil {
		return User{}, "", err
	}
	a, _ := splitAccount(all, provider, former.id)
	if a == nil {
		return User{}, "", ErrNotFound
	}
	if open, _ := s.tokens.open(*a); oidc.UnverifiedSubject(open.IDToken).Issuer != former.issuer {
		return User{}, "", ErrNotFound
	}
	return u, former.id, nil
}
