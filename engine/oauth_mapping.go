package engine

import (
	"cmp"
	"fmt"
	"strings"

	"authsvc"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/emailaddr"
	"authsvc/internal/text/profilepath"
)

// A mapping converts a profile into a user.
type mapping struct {
	paths        paths
	mapProfile   func(authsvc.Profile) (authsvc.User, error) // instead of paths, if not nil
	trustEmail   bool
	verifiedText bool

	account      authsvc.Account // type and provider of new accounts
	linkVerified bool
	local        bool // the service is on this machine, as in development
}

// paths holds the compiled Fields.
type paths struct{ id, name, email, emailVerified, image profilepath.Paths }

// mapping completes m with fields and reports fields that are not paths.
func (b *builder) mapping(fields authsvc.Fields, m mapping) mapping {
	for _, one := range []struct {
		key, text string
		into      *profilepath.Paths
	}{
		{"ID", cmp.Or(fields.ID, "sub"), &m.paths.id},
		{"Name", cmp.Or(fields.Name, "name|nickname|preferred_username"), &m.paths.name},
		{"Email", cmp.Or(fields.Email, "email"), &m.paths.email},
		{"EmailVerified", cmp.Or(fields.EmailVerified, "email_verified"), &m.paths.emailVerified},
		{"Image", cmp.Or(fields.Image, "picture"), &m.paths.image},
	} {
		var err error
		if *one.into, err = profilepath.Parse(one.text); err != nil {
			b.fail("Fields."+one.key, err.Error(), `write members joined by dots, such as user.emails[primary=true].email; put names with other characters in double quotes`)
		}
		if one.into.Several() {
			b.fail("Fields."+one.key, "leads to several values", "name one, such as emails[0].email; only claims of the session can be lists")
		}
	}
	if strings.Contains(fields.EmailVerified, "{") {
		b.fail("Fields.EmailVerified", "must not be a template", "write the path of the boolean")
	}
	m.local = loopbackURL(weburl.OriginOf(b.base))
	m.paths.id.Whole() // half an id could be another person's
	return m
}

// user maps a profile to a user without an id. It also returns the person's id at the
// provider and whether the provider vouches for the address.
func (m *mapping) user(rq *request, from profilepath.Roots) (u authsvc.User, id string, verified bool, err error) {
	if m.mapProfile != nil {
		if u, err = callHook(rq, "MapProfile", func() (authsvc.User, error) { return m.mapProfile(from.Profile) }); err != nil {
			return u, "", false, fmt.Errorf("cannot map the profile: %w", err)
		}
		id, u.ID = u.ID, ""
		verified = !u.EmailVerified.IsZero()
	} else {
		id = m.paths.id.Text(from)
		u.Name = m.paths.name.Text(from)
		u.Email = m.paths.email.Text(from)
		u.Image = m.paths.image.Text(from)
		verified = m.emailVouched(m.paths.emailVerified.Value(from))
	}
	u.EmailVerified = authsvc.User{}.EmailVerified
	return u, id, (verified || m.trustEmail) && emailaddr.KeepsMailbox(u.Email), nil
}

// maxProviderID limits the id that a provider gives a person, in bytes.
const maxProviderID = 255

// identity maps a profile to the identity that login looks for.
func (m *mapping) identity(rq *request, from profilepath.Roots) (identity, error) {
	u, id, verified, err := m.user(rq, from)
	if err != nil {
		return identity{}, err
	}
	if !usableID(id) || len(id) > maxProviderID {
		return identity{}, fixedReason("the profile has no usable id")
	}
	known := m.newIdentity(u, id, verified, from.Profile)
	known.tokenAnswer = from.Token
	return known, nil
}

// newIdentity returns the identity of the person with an id at the provider.
func (m *mapping) newIdentity(u authsvc.User, id string, verified bool, p authsvc.Profile) identity {
	u = cleanUser(u, m.local)
	a := m.account
	a.ProviderAccountID = id
	return identity{user: u, account: a, profile: p, verified: verified && u.Email != "", linkVerified: m.linkVerified, createCode: authsvc.CodeOAuthCreateAccount}
}

// emailVouched reports whether the value at Fields.EmailVerified counts as true.
func (m *mapping) emailVouched(v any) bool {
	return v == true || m.verifiedText && (v == "true" || v == "1")
}

// accountID returns the id of a person's account, made from the id in the profile and
// the verified claims. If the issuer stands for several tenants, the account id begins
// with the person's tenant, as in "TENANT/ID".
//
// Earlier versions stored the id alone. NextAuth.js and services without storage also
// do so, and name their users by it. The id can stay alone if it is a pairwise subject,
// which no two tenants share. Such an account is found in either form, so the mode and
// the tenants may change. Any other id that stands alone may belong to a person in
// another tenant: the account counts only if the ID token stored with it has the same
// issuer.
func (f *oauthFlow) accountID(claims authsvc.Profile, id string) (string, formerID) {
	many, pairwise := oidc.MultiTenant(f.Issuer), f.PairwiseSubject && f.subjectIsID()
	tenant := textOf(claims["tid"])
	if tenant == "" || !many && !pairwise {
		return id, formerID{}
	}
	full := tenant + "/" + id
	switch {
	case !pairwise:
		return full, formerID{id: id, issuer: textOf(claims["iss"])}
	case many && f.room.tenantIDs:
		return full, formerID{id: id}
	}
	return id, formerID{id: full}
}

// subjectIsID reports whether the id in the profile is the claim sub.
func (f *oauthFlow) subjectIsID() bool {
	return f.Hooks.MapProfile == nil && (f.Fields.ID == "" || f.Fields.ID == "sub")
}
