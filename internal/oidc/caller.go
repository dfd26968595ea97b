package oidc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// A CallerConfig describes a provider that speaks another protocol.
type CallerConfig struct {
	// URLs are those that the operator configured, by the name of their field.
	URLs map[string]string
	// Hosts are as in Config.
	Hosts []string
	// Headers are checked as Config.TokenHeaders are; calls bring their own.
	Headers map[string]string
	// HTTP is as in Config.
	HTTP *http.Client
}

// NewCaller returns a party of which only Call, Fetch and VerifyJWT are good for
// anything: for protocols other than OAuth 2.0, whose calls obey the same rules.
// All mistakes are reported together.
func NewCaller(c CallerConfig) (*Party, error) {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.URLs)) {
		if c.URLs[name] == "" {
			continue // the caller knows whether it may be missing
		}
		if err := checkURL(c.URLs[name]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	if err := CheckHosts(c.Hosts); err != nil {
		errs = append(errs, fmt.Errorf("hosts: %w", err))
	}
	errs = append(errs, checkHeaders("headers", c.Headers))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	addresses := slices.DeleteFunc(slices.Collect(maps.Values(c.URLs)), func(u string) bool { return u == "" })
	p := &Party{hosts: hostsOf(addresses, c.Hosts), client: guardedClient(c.HTTP, addresses), algs: algorithms(nil), static: &Metadata{}, slots: newSlots()}
	p.keys.fetch = p.fetchKeys
	return p, nil
}

// Fetch is [Party.Call] for an answer that is neither JSON nor a form by its
// content type: it returns the body of an answer with status 200.
func (p *Party) Fetch(ctx context.Context, c Call) ([]byte, error) {
	a, err := p.token.do(func() (*answer, error) { return p.call(ctx, c) })
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, statusError(a.status)
	}
	return a.body, nil
}
