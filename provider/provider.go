// Package provider knows identity providers: one constructor per file, whose
// result is plain data and may be changed before it is given to authsvc.New.
package provider

import "authsvc"

// An Entry is a line of the table: what a configuration file needs to know to
// make a provider by name.
type Entry struct {
	ID      string   // default id, part of routes and stored accounts
	Name    string   // for people
	Options []Option // beside client id and secret
	// New makes the provider. Options that are not given have their default.
	New func(c authsvc.Client, options map[string]string) *authsvc.OAuth
}

// An Option is a value that a provider takes beside client id and secret.
type Option struct {
	Key      string // as the configuration file spells it
	Doc      string
	Required bool
}

// All returns the table, ordered by id.
func All() []Entry {
	return []Entry{
		{ID: "github", Name: "GitHub", New: plain(GitHub)},
		{ID: "google", Name: "Google", New: plain(Google)},
	}
}

// Lookup returns the entry of an id, and whether there is one.
func Lookup(id string) (Entry, bool) {
	for _, e := range All() {
		if e.ID == id {
			return e, true
		}
	}
	return Entry{}, false
}

// plain adapts a constructor that takes no options.
func plain(f func(authsvc.Client) *authsvc.OAuth) func(authsvc.Client, map[string]string) *authsvc.OAuth {
	return func(c authsvc.Client, _ map[string]string) *authsvc.OAuth { return f(c) }
}
