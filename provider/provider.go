// Package provider defines identity providers. Each file has one constructor, whose
// result is plain data that you may change before you pass it to engine.New.
package provider

import (
	"errors"
	"slices"
	"strings"

	"authsvc"
)

// An Entry describes one of the providers that All returns: the data to create it by
// name from a configuration file, and the text for its documentation. The use of PKCE,
// the scopes and the treatment of email addresses are in the value that New returns.
type Entry struct {
	ID       string   // default id, part of routes and stored accounts
	Name     string   // display name
	Button   string   // the name on the button, after "Sign in with"; empty: Name
	Aliases  []string // other ids that Lookup accepts
	Protocol string   // oidc, oauth2, oauth1, openid2 or custom, the provider's own
	Email    string   // whether email addresses are verified: one of the Email constants
	Docs     string   // URL where to register an application
	Options  []Option // options besides client id and secret
	NoSecret bool     // there is no client secret
	NoClient bool     // there is no client id either
	Notes    []string // advice for operators, one sentence each
	// New creates the provider. Omitted options have their default. If an option is
	// missing or wrong, New returns an *OptionError.
	New func(c authsvc.Client, options map[string]string) (authsvc.Provider, error)
}

// Whether a provider's email addresses are verified. Linking accounts by email
// requires a verified address.
const (
	EmailClaim      = "claim"      // the provider says for each address whether it is verified
	EmailFiltered   = "filtered"   // of several addresses, the verified primary one is used
	EmailImplied    = "implied"    // only verified addresses are provided
	EmailIssuer     = "issuer"     // the server's operator decides: unverified unless configured otherwise
	EmailUnverified = "unverified" // addresses are unverified
	EmailAbsent     = "absent"     // there is no address
)

// never is the path of a verification flag that is always ignored: no profile has a
// field with this name.
const never = "-"

// An Option is a value that a provider takes besides client id and secret.
type Option struct {
	Key      string // name in the configuration file, snake_case
	Doc      string // short description of the value
	Example  string // a value of the right form
	Required bool
	Secret   bool // must never be shown
}

// An OptionError describes a problem with an option and its fix. It never contains the
// value of the option, which may be secret.
type OptionError struct{ Key, Problem, Fix string }

// Error returns the error on one line.
func (e *OptionError) Error() string { return e.Key + " " + e.Problem + "; " + e.Fix }

// All returns every provider, ordered by id.
func All() []Entry {
	var all []Entry
	for _, entry := range entries() {
		e := entry()
		e.New = e.explain(e.New)
		all = append(all, e)
	}
	return all
}

// explain adds the description of a missing option to the error of New.
func (e Entry) explain(made func(authsvc.Client, map[string]string) (authsvc.Provider, error)) func(authsvc.Client, map[string]string) (authsvc.Provider, error) {
	return func(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
		p, err := made(c, options)
		var wrong *OptionError
		if errors.As(err, &wrong) && wrong.Fix == required {
			for _, o := range e.Options {
				if o.Key == wrong.Key {
					return nil, &OptionError{Key: o.Key, Problem: wrong.Problem, Fix: "give " + o.Doc}
				}
			}
		}
		return p, err
	}
}

// Lookup returns the entry for an id or alias, and reports whether there is one.
func Lookup(id string) (Entry, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.ID == id }); i >= 0 {
		return all[i], true
	}
	i := slices.IndexFunc(all, func(e Entry) bool { return slices.Contains(e.Aliases, id) })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}

// withIssuer adapts a constructor that takes the issuer, or the URL of a self-hosted
// server.
func withIssuer(f func(authsvc.Client, string) *authsvc.OAuth) func(authsvc.Client, map[string]string) (authsvc.Provider, error) {
	return withOption("issuer", f)
}

// withOption adapts a constructor that takes one required option.
func withOption(key string, f func(authsvc.Client, string) *authsvc.OAuth) func(authsvc.Client, map[string]string) (authsvc.Provider, error) {
	return func(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
		if options[key] == "" {
			return nil, missing(key)
		}
		return f(c, options[key]), nil
	}
}

// required is the fix for a missing option; explain replaces it if the option has a
// description.
const required = "set it; there is no default"

func missing(key string) error {
	return &OptionError{Key: key, Problem: "is missing", Fix: required}
}

// withDefault adapts a constructor that takes one optional value, "" for its default.
func withDefault(key string, f func(authsvc.Client, string) *authsvc.OAuth) func(authsvc.Client, map[string]string) (authsvc.Provider, error) {
	return func(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
		return f(c, options[key]), nil
	}
}

// plain adapts a constructor that takes no options.
func plain[P authsvc.Provider](f func(authsvc.Client) P) func(authsvc.Client, map[string]string) (authsvc.Provider, error) {
	return func(c authsvc.Client, _ map[string]string) (authsvc.Provider, error) { return f(c), nil }
}

// withoutSlash returns the URL of a server without trailing slashes.
func withoutSlash(address string) string { return strings.TrimRight(address, "/") }

// Notes for providers whose email addresses count as verified only if the operator
// says so.
const (
	noteVerifiedFlag = "To trust the server's claim, set profile.email_verified: email_verified."
	noteTrustEmail   = "To treat every email address as verified, set trust_email: true."
)

// issuerOption returns the option for providers where every customer has an issuer.
func issuerOption(example string) []Option {
	return []Option{{Key: "issuer", Doc: "the issuer, such as " + example, Example: example, Required: true}}
}
