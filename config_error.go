package authsvc

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// A ConfigError is one mistake in a Config. Field is its path in Go, such as
// Session.MaxAge or Providers[0].Client.ID.
type ConfigError struct {
	Field   string
	Problem string // what is wrong
	Fix     string // what to do
	// With are other fields that the verdict rests on, such as URL with
	// TrustedOrigins[0]. Where one of them is not what was meant, it may be void.
	With []string
}

// Error names the field, the problem and the fix.
func (e *ConfigError) Error() string {
	s := "authsvc: " + e.Field + " " + e.Problem
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// ConfigErrors lists the mistakes in an error of New.
func ConfigErrors(err error) []*ConfigError {
	var list []*ConfigError
	var one *ConfigError
	if many, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // only the outermost join
		for _, e := range many.Unwrap() {
			list = append(list, ConfigErrors(e)...)
		}
	} else if errors.As(err, &one) {
		list = append(list, one)
	}
	return list
}

// A builder collects mistakes and warnings while New compiles a Config.
type builder struct {
	config          *Config
	base            string
	http            *http.Client
	prefix          string         // of the keys below the current place
	positions       map[string]int // of providers, by id, in Config.Providers
	openIDType      string         // see dialect
	defaultStrategy Strategy       // of sessions
	mistakes        []error
	warnings        []func(*Service)
}

// fail records a mistake at key, relative to the current place. It rests on the
// fields in with, too.
func (b *builder) fail(key, problem, fix string, with ...string) {
	e := &ConfigError{Field: strings.TrimSuffix(b.prefix+key, "."), Problem: problem, Fix: fix}
	for _, field := range with {
		e.With = append(e.With, b.prefix+field)
	}
	b.mistakes = append(b.mistakes, e)
}

// warn records something to say at every start.
func (b *builder) warn(text string, args ...any) {
	b.warnings = append(b.warnings, func(s *Service) { s.log.Warn(text, args...) })
}

// providers compiles the providers, in order.
func (b *builder) providers() (flows map[string]flow, order []flow) {
	flows, b.positions = map[string]flow{}, map[string]int{}
	if len(b.config.Providers) == 0 {
		b.fail("Providers", "is empty", "name at least one way to sign in")
	}
	for i, p := range b.config.Providers {
		b.prefix = fmt.Sprintf("Providers[%d].", i)
		if p == nil {
			b.fail("", "is nil", "remove it")
			continue
		}
		f := p.build(b)
		id := f.info().id
		switch {
		case !validProviderID(id):
			b.fail("ID", fmt.Sprintf("%q is not usable", printable(id, 40)), "use lower-case letters, digits, - and _, at most 40")
		case flows[id] != nil:
			b.fail("ID", fmt.Sprintf("%q is given twice", id), "give each provider an id of its own")
		default:
			flows[id], b.positions[id] = f, i
			order = append(order, f)
		}
	}
	b.prefix = ""
	return flows, order
}

func validProviderID(id string) bool {
	if id == "" || len(id) > 40 {
		return false
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}
