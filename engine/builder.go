package engine

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/text"
)

// A builder collects mistakes and warnings while New compiles a Config.
type builder struct {
	config          *authsvc.Config
	base            string
	http            *http.Client
	storeys         storeys
	prefix          string         // precedes the keys of mistakes: the current place
	positions       map[string]int // index in Config.Providers, by provider id
	openIDType      string         // as in dialect, like mailsCodes
	mailsCodes      bool
	defaultStrategy authsvc.Strategy // the default for sessions
	mistakes        []error
	warnings        []func(*slog.Logger)
}

// fail records a mistake at key, which is relative to the current place. with names
// other fields that the mistake depends on. If the texts name Go fields, the caller
// must set Code.
func (b *builder) fail(key, problem, fix string, with ...string) *authsvc.ConfigError {
	e := &authsvc.ConfigError{Field: strings.TrimSuffix(b.prefix+key, "."), Problem: problem, Fix: fix}
	for _, field := range with {
		e.With = append(e.With, b.prefix+field)
	}
	b.mistakes = append(b.mistakes, e)
	return e
}

// warn records a warning to log at every start.
func (b *builder) warn(text string, args ...any) {
	b.warnings = append(b.warnings, func(log *slog.Logger) { log.Warn(text, args...) })
}

// providers compiles the providers, in order.
func (b *builder) providers() (flows map[string]flow, order []flow) {
	flows, b.positions = map[string]flow{}, map[string]int{}
	if len(b.config.Providers) == 0 {
		b.fail("Providers", "is empty", "name at least one way to sign in").Code = "no_providers"
	}
	for i, p := range b.config.Providers {
		b.prefix = fmt.Sprintf("Providers[%d].", i)
		if p == nil {
			b.fail("", "is nil", "remove it")
			continue
		}
		f := b.flow(p)
		id := f.info().id
		switch {
		case !validProviderID(id):
			b.fail("ID", fmt.Sprintf("%q is not usable", text.Printable(id, 40)), "use lower-case letters, digits, - and _, at most 40")
		case flows[id] != nil:
			b.fail("ID", fmt.Sprintf("%q is given twice", id), "give each provider an id of its own")
		default:
			flows[id], b.positions[id] = f, i
			order = append(order, f)
		}
	}
	b.prefix = ""
	if len(order) > 0 && len(b.mistakes) == 0 && !slices.ContainsFunc(order, func(f flow) bool { return !f.info().hidden }) {
		b.fail("Providers", "name no way to sign in", "add one, or let the email provider be one")
	}
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

// minSecret is the minimum length of a secret, in bytes.
const minSecret = 32

func distinct(s string) int {
	seen := map[byte]bool{}
	for i := 0; i < len(s); i++ {
		seen[s[i]] = true
	}
	return len(seen)
}

// needStorage records a mistake with a code if there is no storage.
func (b *builder) needStorage(code, key, problem, fix string) {
	if b.config.Adapter == nil {
		b.fail(key, problem, fix).Code = code
	}
}

func storeUnusable(err error) error {
	return &authsvc.ConfigError{Code: "store_unusable", Field: "Adapter", Problem: "cannot be used: " + err.Error(), Fix: "start the store, and create its tables: open it with Options.Migrate, or run `authsvc migrate up`"}
}

// flow checks a provider and compiles it. Mistakes are recorded in b. No other code
// asks what kind of provider it has.
func (b *builder) flow(p authsvc.Provider) flow {
	switch p := p.(type) {
	case *authsvc.OAuth:
		return buildOAuth(b, p)
	case *authsvc.OAuth1:
		return buildOAuth1(b, p)
	case *authsvc.OpenID2:
		return buildOpenID2(b, p)
	case *authsvc.Email:
		return buildEmail(b, p)
	case *authsvc.Credentials:
		return buildCredentials(b, p)
	}
	panic("authsvc: unknown kind of provider") // a Provider is one of these
}
