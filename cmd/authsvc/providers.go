package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"authsvc/provider"
)

type providersCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// listedProvider is the JSON form of a line of the table.
type listedProvider struct {
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Options []listedOption `json:"options"`
}

type listedOption struct {
	Key      string `json:"key"`
	Doc      string `json:"doc"`
	Required bool   `json:"required"`
}

// Run prints the table of built-in providers.
func (c *providersCommand) Run(p *program) error {
	list := []listedProvider{}
	for _, e := range provider.All() {
		l := listedProvider{ID: e.ID, Name: e.Name, Options: []listedOption{}}
		for _, o := range e.Options {
			l.Options = append(l.Options, listedOption(o))
		}
		list = append(list, l)
	}
	if c.JSON {
		enc := json.NewEncoder(p.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tOPTIONS")
	for _, l := range list {
		keys := []string{"client_id", "client_secret"}
		for _, o := range l.Options {
			keys = append(keys, o.Key)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", l.ID, l.Name, strings.Join(keys, ", "))
	}
	return w.Flush()
}
