package engine

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"authsvc"
	"authsvc/adapter"
)

// An Operator inspects a deployment and changes its records, for commands and
// tests. It serves no requests, except with ServeUnopened. It is safe for concurrent use.
type Operator struct {
	People
	Keys
	service *Service
}

// NewOperator checks c as [New] does and returns the same error. It starts no
// background work and does not use the store until you call a method.
func NewOperator(c authsvc.Config) (*Operator, error) {
	s, b := compile(&c)
	if len(b.mistakes) > 0 {
		return nil, errors.Join(b.mistakes...)
	}
	return &Operator{s.People, s.Keys, s}, nil
}

// BaseURL returns the address of the routes; see [Service.BaseURL].
func (o *Operator) BaseURL() string { return o.service.BaseURL() }

// IdentityHeaders returns header names; see [Service.IdentityHeaders].
func (o *Operator) IdentityHeaders() []string { return o.service.IdentityHeaders() }

// Session returns the session of a request; see [Service.Session]. Call Follow first.
func (o *Operator) Session(r *http.Request) (*authsvc.Session, error) { return o.service.Session(r) }

// Ready reports why sessions cannot be read; see [Service.Ready].
func (o *Operator) Ready(ctx context.Context) error { return o.service.Ready(ctx) }

// Close stops the work that Follow started; see [Service.Close].
func (o *Operator) Close(ctx context.Context) error { return o.service.Close(ctx) }

// CheckProviders fetches the metadata of all providers that publish it (OpenID Connect
// Discovery 1.0, RFC 8414), concurrently. The result has an entry for each of them, by
// id: the error, or nil.
func (o *Operator) CheckProviders(ctx context.Context) map[string]error {
	type checker interface{ check(context.Context) error }
	var mu sync.Mutex
	var all sync.WaitGroup
	found := map[string]error{}
	for id, f := range o.site.flows {
		if f, can := f.(checker); can {
			all.Go(func() {
				err := f.check(ctx)
				mu.Lock()
				defer mu.Unlock()
				found[id] = err
			})
		}
	}
	all.Wait()
	return found
}

// CheckStore reports why the configuration does not fit the store, with the same error
// as [New]: the store was used with another Config.Compat, or with another issuer under
// the id of a provider. CheckStore writes nothing.
func (o *Operator) CheckStore(ctx context.Context) error { return o.checkStore(ctx, "") }

// AcceptCompat records Config.Compat in the store in place of the recorded mode. If the
// configuration does not fit the store for a reason other than the mode, AcceptCompat
// returns the error of CheckStore and records nothing. Sessions and links of the old mode are then no longer recognised. With dryRun,
// it writes nothing.
func (o *Operator) AcceptCompat(ctx context.Context, dryRun bool) error {
	return o.acceptMeta(ctx, metaCompat, string(o.site.dialect.mode), dryRun)
}

// StoredIssuer returns the issuer that a provider had when its accounts were stored. It
// returns [authsvc.ErrNotFound] if the store has none.
func (o *Operator) StoredIssuer(ctx context.Context, providerID string) (issuer string, err error) {
	return o.common.Adapter.GetMeta(ctx, metaIssuer+providerID)
}

// AcceptIssuer records the configured issuer of a provider in the store and returns it.
// It does not check the issuers of other providers. If the configuration does not fit the
// store for another reason, AcceptIssuer returns the error of CheckStore and records
// nothing. It returns [authsvc.ErrNotFound] if no provider with an issuer has that id.
// With dryRun, it writes nothing.
func (o *Operator) AcceptIssuer(ctx context.Context, providerID string, dryRun bool) (issuer string, err error) {
	f := o.site.flows[providerID]
	if f == nil || f.info().issuer == "" {
		return "", adapter.ErrNotFound
	}
	issuer = f.info().issuer
	return issuer, o.acceptMeta(ctx, metaIssuer+providerID, issuer, dryRun)
}

// Follow lets the operator read sessions (Session) until Close. It checks the store as
// CheckStore does and reads the revocations of JWT sessions, then reads them again
// every two seconds. It writes nothing. ctx is only for the start. If your program only
// reads sessions, use package reader.
func (o *Operator) Follow(ctx context.Context) error {
	if err := o.CheckStore(ctx); err != nil {
		return err
	}
	o.auditor.LeaveOut() // there is nothing to record yet
	o.keeper.startRevocations(ctx)
	o.follow()
	return nil
}

// RewriteTokens stores the tokens of all accounts as Config.ProviderTokens now says:
// empty, sealed under the first of Secrets, or plain. It never overwrites tokens that a
// sign-in or a refresh stores meanwhile. A token that cannot be opened stays, unless
// tokens are dropped. With dryRun, it writes nothing.
//
// RewriteTokens calls visit for each account whose tokens it writes, and for each in
// which it leaves a token as it was because it cannot rewrite it. It reads users in
// pages. If replicas with another configuration write tokens later, run it again.
func (o *Operator) RewriteTokens(ctx context.Context, dryRun bool, visit func(TokenRewrite) error) error {
	return o.vault.RewriteTokens(ctx, dryRun, visit)
}
