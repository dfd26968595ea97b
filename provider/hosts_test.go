package provider_test

import (
	"errors"
	"testing"

	"authsvc"
	"authsvc/provider"
)

// TestHostOptions checks that options that become part of a host name or a path are
// plain names.
func TestHostOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		id, key string
		good    []string
		bad     []string
	}{
		{"shopify", "shop", []string{"acme", "acme-2", "Acme.MyShopify.com", "7"},
			[]string{"evil.example/", "acme.evil", "acme@evil.example", "-acme", "acme-", "a b", "acme#", "acme:443", "https://acme.myshopify.com", "acme\n", ".myshopify.com"}},
		{"shopify", "api_version", []string{"2026-07", "unstable"},
			[]string{"2026-7", "../..", "2026-07/", "latest", "2026-07\n"}},
		{"zoho", "region", []string{"us", "eu", "au"},
			[]string{"cn", "EU", "com", "eu.evil.example", "evil.example/"}},
	} {
		entry, _ := provider.Lookup(tt.id)
		build := func(value string) error {
			options := examples(entry, false)
			options[tt.key] = value
			_, err := entry.New(authsvc.Client{ID: "client", Secret: "secret"}, options)
			return err
		}
		for _, value := range tt.good {
			if err := build(value); err != nil {
				t.Errorf("%s: %s %q: %v", tt.id, tt.key, value, err)
			}
		}
		for _, value := range tt.bad {
			var wrong *provider.OptionError
			if err := build(value); !errors.As(err, &wrong) || wrong.Key != tt.key || wrong.Fix == "" {
				t.Errorf("%s: %s %q: %v", tt.id, tt.key, value, err)
			}
		}
	}
}
