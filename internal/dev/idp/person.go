package idp

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Person is an identity to choose from. The tags are the claim names of
// OpenID Connect Core §5.1.
type Person struct {
	Sub           string `json:"sub"` // 1 to 255 visible ASCII characters, unique
	Name          string `json:"name"`
	Email         string `json:"email,omitempty"` // empty: no email claims at all
	EmailVerified bool   `json:"email_verified,omitempty"`
	Picture       string `json:"picture,omitempty"` // empty: an avatar with initials

	Claims map[string]any `json:"claims,omitempty"` // further claims; the fields above take precedence
}

// MoreClaims returns Claims as JSON for people to read, or "" if there are none.
func (q Person) MoreClaims() string {
	if len(q.Claims) == 0 {
		return ""
	}
	raw, err := json.Marshal(q.Claims)
	if err != nil {
		return ""
	}
	return string(raw)
}

// DefaultPeople returns the identities of a new provider. Two are ordinary. One has an
// unverified email address and one has none, because applications forget these cases.
func DefaultPeople() []Person {
	return []Person{
		{Sub: "ada", Name: "Ada Lovelace", Email: "ada@example.com", EmailVerified: true},
		{Sub: "grace", Name: "Grace Hopper", Email: "grace@example.com", EmailVerified: true},
		{Sub: "alan", Name: "Alan Turing", Email: "alan@example.com"},
		{Sub: "katherine", Name: "Katherine Johnson"},
	}
}

// People returns the identities, in the order of the page.
func (p *Provider) People() []Person {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.people)
}

// AddPerson adds an identity to the list and to the store, and returns it as stored. It
// replaces an empty Sub with a random one. Two people may share an email address, but
// not a Sub.
func (p *Provider) AddPerson(person Person) (Person, error) {
	if person.Sub == "" {
		person.Sub = "p-" + strings.ToLower(rand.Text())
	}
	if errs := person.mistakes(); len(errs) > 0 {
		return Person{}, errs[0]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.people) >= maxPeople {
		return Person{}, errPeopleFull
	}
	if slices.ContainsFunc(p.people, func(q Person) bool { return q.Sub == person.Sub }) {
		return Person{}, fmt.Errorf("sub %q: %w", person.Sub, ErrTaken)
	}
	people := append(slices.Clone(p.people), person)
	if err := p.save(people, p.keys); err != nil {
		return Person{}, err
	}
	p.people = people
	return person, nil
}

// ErrTaken is the error of AddPerson for a Sub that another person has.
var ErrTaken = errors.New("sub is taken")

// personBySub finds a person by exact subject.
func (p *Provider) personBySub(sub string) (Person, bool) {
	return p.findPerson(func(q Person) bool { return q.Sub == sub })
}

// personByHint finds the person that a login_hint names: by subject, else by email
// address. An empty hint names no one.
func (p *Provider) personByHint(hint string) (Person, bool) {
	if hint == "" {
		return Person{}, false
	}
	if person, ok := p.personBySub(hint); ok {
		return person, true
	}
	return p.findPerson(func(q Person) bool { return strings.EqualFold(q.Email, hint) })
}

func (p *Provider) findPerson(match func(Person) bool) (Person, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	i := slices.IndexFunc(p.people, match)
	if i < 0 {
		return Person{}, false
	}
	return p.people[i], true
}

// Errors about a new person, in words for the page.
var (
	errPeopleFull = errors.New("the list of people is full")
	errName       = errors.New("enter a name of at most 100 characters")
	errEmail      = errors.New("enter an email address such as name@example.com, or leave it empty")
)

// mistakes returns every mistake of a person.
func (q Person) mistakes() []error {
	var errs []error
	if q.Sub == "" || len(q.Sub) > 255 || strings.ContainsFunc(q.Sub, notVisibleASCII) {
		errs = append(errs, errors.New("the id must have 1 to 255 visible ASCII characters"))
	}
	if q.Name == "" || utf8.RuneCountInString(q.Name) > 100 || !printable(q.Name) {
		errs = append(errs, errName)
	}
	if q.Email != "" && !plainAddress(q.Email) {
		errs = append(errs, errEmail)
	}
	if q.Picture != "" {
		u, err := url.Parse(q.Picture)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" {
			errs = append(errs, errors.New("the picture must be an http or https URL"))
		}
	}
	return errs
}

// checkPeople reports every mistake in a list, with the place in Options.People.
func checkPeople(people []Person) error {
	var errs []error
	seen := make(map[string]bool, len(people))
	for i, q := range people {
		for _, err := range q.mistakes() {
			errs = append(errs, fmt.Errorf("person %d of People: %w", i, err))
		}
		if q.Sub != "" && seen[q.Sub] {
			errs = append(errs, fmt.Errorf("person %d of People: another person has the id %q", i, q.Sub))
		}
		seen[q.Sub] = true
	}
	if len(people) > maxPeople {
		errs = append(errs, errPeopleFull)
	}
	return errors.Join(errs...)
}

func notVisibleASCII(r rune) bool { return r <= ' ' || r >= 0x7f }

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// plainAddress reports whether s is a bare address, without display name, comment or
// other text that the mail grammar allows around it.
func plainAddress(s string) bool {
	if len(s) > 254 || !printable(s) {
		return false
	}
	addr, err := mail.ParseAddress(s)
	return err == nil && addr.Address == s
}
