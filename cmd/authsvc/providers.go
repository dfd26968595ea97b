package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"authsvc"
	"authsvc/provider"
)

type providersCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// A listedProvider is the JSON form of an entry of the table.
type listedProvider struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Aliases  []string       `json:"aliases"`
	Protocol string         `json:"protocol"`
	PKCE     bool           `json:"pkce"`
	Email    string         `json:"email"`
	Scope    string         `json:"scope"`
	Docs     string         `json:"docs"`
	NoSecret bool           `json:"noSecret"`
	NoClient bool           `json:"noClient"`
	Options  []listedOption `json:"options"`
	Notes    []string       `json:"notes"`
}

type listedOption struct {
	Key      string `json:"key"`
	Doc      string `json:"doc"`
	Example  string `json:"example"`
	Required bool   `json:"required"`
	Secret   bool   `json:"secret"`
}

// Run prints the table of built-in providers.
func (c *providersCommand) Run(p *program) error {
	list := []listedProvider{}
	for _, e := range provider.All() {
		l, err := describeProvider(e)
		if err != nil {
			return err
		}
		list = append(list, l)
	}
	if c.JSON {
		enc := json.NewEncoder(p.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tPROTOCOL\tPKCE\tE-MAIL\tOPTIONS")
	for _, l := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.ID, l.Name, l.Protocol, map[bool]string{true: "yes", false: "no"}[l.PKCE],
			l.Email, strings.Join(l.keys(), ", "))
	}
	return w.Flush()
}

// keys returns the required keys, and the optional ones in brackets.
func (l *listedProvider) keys() []string {
	var keys []string
	if !l.NoClient {
		keys = append(keys, "client_id")
	}
	if !l.NoSecret {
		keys = append(keys, "client_secret")
	}
	for _, o := range l.Options {
		if o.Required {
			keys = append(keys, o.Key)
		} else {
			keys = append(keys, "["+o.Key+"]")
		}
	}
	return keys
}

// describeProvider returns the JSON form of an entry. PKCE and scope come from a
// provider made with the examples of its options.
func describeProvider(e provider.Entry) (listedProvider, error) {
	l := listedProvider{ID: e.ID, Name: e.Name, Aliases: append([]string{}, e.Aliases...), Protocol: e.Protocol, Email: e.Email,
		Docs: e.Docs, NoSecret: e.NoSecret, NoClient: e.NoClient, Options: []listedOption{}, Notes: append([]string{}, e.Notes...)}
	if e.ID == "oidc" { // unlike in Go, profile.email_verified has a default in a file
		l.Email = provider.EmailClaim
	}
	examples := map[string]string{}
	for _, o := range e.Options {
		l.Options = append(l.Options, listedOption{Key: o.Key, Doc: o.Doc, Example: o.Example, Required: o.Required, Secret: o.Secret})
		if o.Required {
			examples[o.Key] = o.Example
		}
	}
	made, err := e.New(authsvc.Client{ID: "CLIENT_ID", Secret: "CLIENT_SECRET"}, examples)
	if err != nil {
		return l, fmt.Errorf("%s: %w", e.ID, err)
	}
	if o, ok := made.(*authsvc.OAuth); ok {
		l.PKCE = !o.NoPKCE && (len(o.Checks) == 0 || slices.Contains(o.Checks, "pkce"))
		l.Scope = o.Scope
	}
	return l, nil
}
