// Package provider knows identity providers: one constructor per file, whose
// result is plain data and may be changed before it is given to engine.New.
package provider

import (
	"errors"
	"slices"
	"strings"

	"authsvc"
)

// An Entry is a line of the table: what a configuration file needs to know to
// make a provider by name, and what a page about it says. PKCE, scopes and
// addresses are in the value that New makes.
type Entry struct {
	ID       string   // default id, part of routes and stored accounts
	Name     string   // for people
	Button   string   // what the constructor calls it, to follow "Sign in with"; empty: Name
	Aliases  []string // other ids that Lookup understands
	Protocol string   // oidc, oauth2, oauth1, openid2 or custom, the provider's own
	Email    string   // what an address is worth: see the Email constants
	Docs     string   // where to register an application, a URL
	Options  []Option // beside client id and secret
	NoSecret bool     // there is no client secret to give
	NoClient bool     // nor a client id
	Notes    []string // what an operator has to know, a sentence each
	// New makes the provider. Options that are not given have their default;
	// an option that is missing or wrong is an *OptionError.
	New func(c authsvc.Client, options map[string]string) (authsvc.Provider, error)
}

// What an e-mail address from a provider is worth. Linking by e-mail asks
// for a verified one.
const (
	EmailClaim      = "claim"      // the provider says of each address whether it was verified
	EmailFiltered   = "filtered"   // of several addresses, the verified primary one is taken
	EmailImplied    = "implied"    // only verified addresses are given out
	EmailIssuer     = "issuer"     // whoever runs the server decides: not taken as verified unless the operator says so
	EmailUnverified = "unverified" // nothing vouches for the address
	EmailAbsent     = "absent"     // there is no address
)

// never is the path of a verification flag that is not believed: no member of
// a profile has this name.
const never = "-"

// An Option is a value that a provider takes beside client id and secret.
type Option struct {
	Key      string // as the configuration file spells it, snake_case
	Doc      string // what to write, in a few words
	Example  string // a value of the right shape
	Required bool
	Secret   bool // never shown
}

// An OptionError says what is wrong with an option, and how to mend it. It
// holds no value.
type OptionError struct{ Key, Problem, Fix string }

// Error is one line.
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

// explain adds to New what a missing option is.
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

// Lookup returns the entry of an id or alias, and whether there is one.
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

// withIssuer adapts a constructor that takes the issuer, or the address of a
// self-hosted server.
func withIssuer(f func(authsvc.Client, string) *authsvc.OAuth) func(authsvc.Client, map[string]string) (authsvc.Provider, error) {
	return withOption("issuer", f)
}

// withOption adapts a constructor that takes one option, which must be given.
func withOption(key string, f func(authsvc.Client, string) *authsvc.OAuth) func(authsvc.Client, map[string]string) (authsvc.Provider, error) {
	return func(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
		if options[key] == "" {
			return nil, missing(key)
		}
		return f(c, options[key]), nil
	}
}

// required is how to mend an option that is missing, where nobody says what it is.
const required = "give it, as there is no default"

func missing(key string) error {
	return &OptionError{Key: key, Problem: "is missing", Fix: required}
}

// withDefault adapts a constructor that takes one option, "" for its default.
func withDefault(key string, f func(authsvc.Client, string) *authsvc.OAuth) func(authsvc.Client, map[string]string) (authsvc.Provider, error) {
	return func(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
		return f(c, options[key]), nil
	}
}

// plain adapts a constructor that takes no options.
func plain[P authsvc.Provider](f func(authsvc.Client) P) func(authsvc.Client, map[string]string) (authsvc.Provider, error) {
	return func(c authsvc.Client, _ map[string]string) (authsvc.Provider, error) { return f(c), nil }
}

// withoutSlash returns the address of a server without the slash that people put
// at its end.
func withoutSlash(address string) string { return strings.TrimRight(address, "/") }

// Notes of providers whose addresses count as verified only if the operator
// decides so.
const (
	noteVerifiedFlag = "To trust the server's flag, set profile.email_verified: email_verified."
	noteTrustEmail   = "To take every address as verified, set trust_email: true."
)

// issuerOption is the option of providers where every customer has an issuer.
func issuerOption(example string) []Option {
	return []Option{{Key: "issuer", Doc: "the issuer, such as " + example, Example: example, Required: true}}
}
