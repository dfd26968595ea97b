package main

import (
	"cmp"

	"authsvc"
	"authsvc/docs"
	"authsvc/internal/protocol/openapi"
)

type openapiCommand struct {
	All bool `help:"Print the whole document, including what exists only with other values of compat, marked by x-modes. Needs no configuration."`
}

// Run prints the description of the HTTP interface at the configured address.
func (c *openapiCommand) Run(p *program) error {
	var o openapi.Options
	if !c.All {
		s, err := p.load(nil)
		if err != nil {
			return err
		}
		service, err := prepareEngine(s, addToConditions(s))
		if err != nil {
			return err
		}
		o.URL, o.Mode = service.BaseURL(), string(cmp.Or(s.Engine.Compat, authsvc.CompatNone))
	}
	raw, err := openapi.Fit(docs.OpenAPI, o)
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(raw)
	return err
}
