package authsvc

import (
	"cmp"
	"fmt"
	"strings"
)

// A mapping makes a user of a profile.
type mapping struct {
	paths        paths
	mapProfile   func(Profile) (User, error) // instead of paths, if not nil
	trustEmail   bool
	verifiedText bool
}

// paths are the compiled Fields.
type paths struct{ id, name, email, emailVerified, image fieldPaths }

// mapping completes m by fields, reporting what is no path.
func (b *builder) mapping(fields Fields, m mapping) mapping {
	for _, one := range []struct {
		key, text string
		into      *fieldPaths
	}{
		{"id", cmp.Or(fields.ID, "sub"), &m.paths.id},
		{"name", cmp.Or(fields.Name, "name|nickname|preferred_username"), &m.paths.name},
		{"email", cmp.Or(fields.Email, "email"), &m.paths.email},
		{"email_verified", cmp.Or(fields.EmailVerified, "email_verified"), &m.paths.emailVerified},
		{"image", cmp.Or(fields.Image, "picture"), &m.paths.image},
	} {
		var err error
		if *one.into, err = parseField(one.text); err != nil {
			b.fail("profile."+one.key, err.Error(), `write members joined by dots, such as user.emails[primary=true].email, names with other characters in double quotes`)
		}
	}
	if strings.Contains(fields.EmailVerified, "{") {
		b.fail("profile.email_verified", "is a template", "name where the boolean is")
	}
	for i := range m.paths.id { // half an id could be somebody else's
		m.paths.id[i].whole = true
	}
	return m
}

// user maps a profile to a user without id, the person's id at the provider,
// and whether the provider vouches for the address.
func (m *mapping) user(rq *request, from roots) (u User, id string, verified bool, err error) {
	if m.mapProfile != nil {
		if u, err = guarded(rq, "MapProfile", func() (User, error) { return m.mapProfile(from.profile) }); err != nil {
			return u, "", false, fmt.Errorf("profile cannot be mapped: %w", err)
		}
		id, u.ID = u.ID, ""
		verified = !u.EmailVerified.IsZero()
	} else {
		id = m.paths.id.text(from)
		u.Name = m.paths.name.text(from)
		u.Email = m.paths.email.text(from)
		u.Image = m.paths.image.text(from)
		verified = m.vouched(m.paths.emailVerified.value(from))
	}
	u.EmailVerified = User{}.EmailVerified
	return u, id, (verified || m.trustEmail) && keepsMailbox(u.Email), nil
}

// vouched judges the value at Fields.EmailVerified.
func (m *mapping) vouched(v any) bool {
	return v == true || m.verifiedText && (v == "true" || v == "1")
}
