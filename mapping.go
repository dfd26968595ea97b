package authsvc

import (
	"cmp"
	"fmt"
	"strings"

	"authsvc/internal/emailaddr"
	"authsvc/internal/profilepath"
)

// A mapping makes a user of a profile.
type mapping struct {
	paths        paths
	mapProfile   func(Profile) (User, error) // instead of paths, if not nil
	trustEmail   bool
	verifiedText bool
}

// paths are the compiled Fields.
type paths struct{ id, name, email, emailVerified, image profilepath.Paths }

// mapping completes m by fields, reporting what is no path.
func (b *builder) mapping(fields Fields, m mapping) mapping {
	for _, one := range []struct {
		key, text string
		into      *profilepath.Paths
	}{
		{"id", cmp.Or(fields.ID, "sub"), &m.paths.id},
		{"name", cmp.Or(fields.Name, "name|nickname|preferred_username"), &m.paths.name},
		{"email", cmp.Or(fields.Email, "email"), &m.paths.email},
		{"email_verified", cmp.Or(fields.EmailVerified, "email_verified"), &m.paths.emailVerified},
		{"image", cmp.Or(fields.Image, "picture"), &m.paths.image},
	} {
		var err error
		if *one.into, err = profilepath.Parse(one.text); err != nil {
			b.fail("profile."+one.key, err.Error(), `write members joined by dots, such as user.emails[primary=true].email, names with other characters in double quotes`)
		}
	}
	if strings.Contains(fields.EmailVerified, "{") {
		b.fail("profile.email_verified", "is a template", "name where the boolean is")
	}
	m.paths.id.Whole() // half an id could be somebody else's
	return m
}

// user maps a profile to a user without id, the person's id at the provider,
// and whether the provider vouches for the address.
func (m *mapping) user(rq *request, from profilepath.Roots) (u User, id string, verified bool, err error) {
	if m.mapProfile != nil {
		if u, err = guarded(rq, "MapProfile", func() (User, error) { return m.mapProfile(from.Profile) }); err != nil {
			return u, "", false, fmt.Errorf("profile cannot be mapped: %w", err)
		}
		id, u.ID = u.ID, ""
		verified = !u.EmailVerified.IsZero()
	} else {
		id = m.paths.id.Text(from)
		u.Name = m.paths.name.Text(from)
		u.Email = m.paths.email.Text(from)
		u.Image = m.paths.image.Text(from)
		verified = m.vouched(m.paths.emailVerified.Value(from))
	}
	u.EmailVerified = User{}.EmailVerified
	return u, id, (verified || m.trustEmail) && emailaddr.KeepsMailbox(u.Email), nil
}

// vouched judges the value at Fields.EmailVerified.
func (m *mapping) vouched(v any) bool {
	return v == true || m.verifiedText && (v == "true" || v == "1")
}

// Text returns what a path, written as in Fields, leads to in the profile: a
// string, or a number as an exact decimal. It is "" for anything else.
func (p Profile) Text(path string) string {
	f, err := profilepath.Parse(path)
	if err != nil {
		return ""
	}
	return f.Text(profilepath.Roots{Profile: p})
}
