package engine

import (
	"context"
	"time"

	"authsvc/engine/internal/limit"

	"authsvc"
)

// A flow is a compiled provider. begin answers POST signin/:provider; complete answers
// GET and POST callback/:provider. No other part of the engine asks which kind of
// provider it has.
type flow interface {
	info() info
	begin(*request) outcome
	complete(*request) outcome
}

// info describes a provider to routes and pages.
type info struct {
	id, name        string
	kind            string // wire type: oauth, oidc, email, credentials
	form            string // template of its part of the sign-in page: button, email, fields
	style           authsvc.Style
	fields          []authsvc.Field
	forgotURL       string                // where to replace a forgotten password; "": nowhere
	namedBy         string                // the form field that names the person; "": it must not be shown again
	formPost        bool                  // the callback is a POST from another site
	forScripts      bool                  // scripts may use the callback, also from trusted origins
	limit           func() *limit.Limiter // counts POSTs to the callback per client, nil: none does
	issuer          string
	hostOnly        bool                  // issuer is only the host people are sent to, which services may move
	linkAge         time.Duration         // how long mailed links are valid; 0: it sends none
	inboxURL        string                // where mailed links can be read
	reauthenticates bool                  // people signed in there can be made to prove their identity
	codes           bool                  // its mails also have a code
	hidden          bool                  // it is not a way to sign in
	initiates       func(iss string) bool // reports whether the issuer may begin a sign-in; nil: none may
}

// asks reports whether people must act to sign in with this provider, even if they are
// already signed in there.
func (in info) asks() bool { return in.reauthenticates || in.linkAge > 0 || in.forScripts }

// A deliverer is a flow that sends mails from the queue.
type deliverer interface {
	deliver(ctx context.Context, q queuedMail) error
}
