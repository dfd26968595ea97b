package engine

import (
	"context"
	"time"

	"authsvc/engine/internal/limit"

	"authsvc"
)

// A flow is a compiled provider. begin answers POST signin/:provider,
// complete GET and POST callback/:provider. Nothing else in the engine asks
// what kind of provider it has.
type flow interface {
	info() info
	begin(*request) outcome
	complete(*request) outcome
}

// info is what routes and pages need to know of a provider.
type info struct {
	id, name   string
	kind       string // wire type: oauth, oidc, email, credentials
	form       string // template of its part of the sign-in page: button, email, fields
	style      authsvc.Style
	fields     []authsvc.Field
	forgotURL  string                // where a forgotten password is replaced; "" is nowhere
	namedBy    string                // the field of its form that says who somebody is; "" if it is not to be shown again
	formPost   bool                  // the callback is a POST from another site
	forScripts bool                  // the callback is also for scripts, of trusted origins too
	limit      func() *limit.Limiter // counts POSTs to the callback per client, nil: none does
	issuer     string
	hostOnly   bool          // issuer is only where people are sent, which services do move
	linkAge    time.Duration // of e-mailed links; 0: it sends none
	inboxURL   string        // where they can be read
	asksAgain  bool          // people who are signed in there can be made to prove who they are
	codes      bool          // their mails have a code as well
	hidden     bool          // it is no way to sign in
}

// asks reports whether who signs in has to do something for it, also if they are
// signed in at the provider.
func (in info) asks() bool { return in.asksAgain || in.linkAge > 0 || in.forScripts }

// A deliverer is a flow that sends mails from the queue.
type deliverer interface {
	deliver(ctx context.Context, m authsvc.Message) error
}
