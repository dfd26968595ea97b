package authsvc

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"authsvc/internal/emailaddr"
	"authsvc/internal/profilepath"
	"authsvc/internal/weburl"
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

// usableID reports whether a provider's id of a person can be one: something
// that can be seen, or all whose id is blank would be one person, and nothing
// that stores do not take.
func usableID(id string) bool {
	seen := func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
	return utf8.ValidString(id) && strings.ContainsFunc(id, seen) && !strings.ContainsFunc(id, unicode.IsControl)
}

// Limits of what a provider may say about a person.
const (
	maxName  = 255 // runes
	maxImage = 2048
)

// cleanUser makes a provider's profile safe to keep and show: control and
// direction characters go, lengths are capped, addresses are normalised,
// pictures must be https.
func cleanUser(u User) User {
	u.Name = cleanName(u.Name)
	if u.Email != "" {
		email, err := emailaddr.Normalise(u.Email)
		if err != nil {
			email = ""
		}
		u.Email = email
	}
	if origin, clean, ok := weburl.Parse(u.Image); ok && strings.HasPrefix(origin, "https://") && len(clean) <= maxImage {
		u.Image = clean
	} else if !isPicture(u.Image) {
		u.Image = ""
	}
	return u
}

// picture is a data: URL (RFC 2397) of a raster image; SVG could hold more.
var picture = regexp.MustCompile(`^data:image/(jpeg|png|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)

func isPicture(s string) bool {
	return len(s) <= base64.StdEncoding.EncodedLen(maxPicture)+32 && picture.MatchString(s)
}

func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.TrimSpace(s)
	n := 0
	for i := range s {
		if n == maxName {
			return s[:i]
		}
		n++
	}
	return s
}
