package engine

import (
	"context"
	"io"
	"net/http"
	"time"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/internal/text/pages"
)

// An outcome is what an action decided. Actions return values; only respond
// writes them, so every rule about headers, cookies and JSON answers is in one
// place.
//
//	identity   a person proved who they are: login goes on from here
//	redirect   to another address
//	page       one of the built-in pages
//	object     JSON
//	problem    the request itself was wrong
//	asset      a static file
//	noContent  an empty answer
//	*authError a refusal with its error code
type outcome interface{ isOutcome() }

// redirect sends the browser to an absolute URL. status is that of the JSON
// answer, 200 if zero; a plain answer is always 302.
type redirect struct {
	to     string
	status int
}

// page is a built-in page.
type page struct {
	name   pages.Name
	view   any
	status int // 200 if zero
	// pictures is an origin that the page shows a picture from.
	pictures string
	// anyHost: it is shown at other hosts than that of the service. framed: also
	// inside pages of that host.
	anyHost, framed bool
}

// of returns the pages as they are shown where this one is.
func (p page) of(all *pages.Pages) *pages.Pages {
	if p.anyHost {
		return all.AtAnyHost()
	}
	return all
}

// frameOptions is what browsers that know no frame-ancestors go by.
func (p page) frameOptions() string {
	if p.framed {
		return "SAMEORIGIN"
	}
	return "DENY"
}

// object is a JSON body; empty means the mode's "no session" ({} or null).
type object struct {
	v      any
	raw    []byte // already encoded, wins over v
	status int    // 200 if zero

	contentType []string // application/json if nil
}

// asset is a file that is the same for everyone.
type asset struct {
	body        []byte
	zipped      []byte // body in gzip, if it is sent so; nothing secret is
	contentType string
	cache       string
	etag        string
}

// problem is a request that no client of ours makes. With a name it is a
// refusal of a route that has Problems.
type problem struct {
	status int
	text   string
	allow  string // Allow header of a 405
	name   problemName
	// challenge is the WWW-Authenticate of a 401 (RFC 9110 section 11.6.1).
	challenge string
	signIn    string // where a person signs in
	maxAge    int    // seconds since the sign-in that are too many
}

// noContent is an empty answer.
type noContent struct{ status int }

// json is the outcome object for JSON that is already encoded. It allocates
// nothing, since nearly all requests end so.
func (rq *request) json(raw []byte) outcome {
	rq.answer = object{raw: raw}
	return &rq.answer
}

func (redirect) isOutcome()  {}
func (page) isOutcome()      {}
func (object) isOutcome()    {}
func (asset) isOutcome()     {}
func (problem) isOutcome()   {}
func (noContent) isOutcome() {}
func (identity) isOutcome()  {}

// identity is what a flow proved. It carries answers, not the kind of
// provider: login never asks for that.
type identity struct {
	user        authsvc.User    // as mapped from the provider, or as stored for credentials
	account     authsvc.Account // provider, type and provider account id; tokens if any
	former      formerID
	profile     authsvc.Profile
	tokenAnswer map[string]any // for paths of claims
	credentials map[string]string
	callbackURL string

	stored        bool      // user is one of the application's own: nothing to find, link or create
	isNew         bool      // there is no stored user
	proof         bool      // the person read mail sent to user.Email
	verified      bool      // the provider vouches for user.Email
	linkVerified  bool      // the operator lets verified addresses link
	linkTo        string    // id of the user who asked to add this identity
	linkImplied   bool      // not asked for: implied by being signed in
	stepUpUser    string    // id of the user who has to be this person
	again         bool      // without storage: asked to prove who they are, having a session
	cannotAsk     bool      // the provider cannot be made to ask the person again
	authTime      time.Time // when the person proved who they are; zero: unknown
	plainRedirect bool      // never the new-user page
	createCode    authsvc.ErrorCode
	accountName   string // accountKey of what was entered; this browser becomes known to it
}

// A problemName is what programs go by: the last part of the type of a Problem
// (RFC 9457). Routes that NextAuth.js has keep its answers instead.
type problemName string

// The names of Problems.
const (
	problemUnauthenticated problemName = "unauthenticated"
	problemCSRF            problemName = "csrf"
	problemCrossSite       problemName = "cross_site"
	problemUnknownAudience problemName = "unknown_audience"
	problemForbidden       problemName = "forbidden"
	problemRateLimited     problemName = "rate_limited"
	problemMalformed       problemName = "malformed"
	problemUnavailable     problemName = "unavailable"
	problemTooOld          problemName = "reauthentication_required"
)

// problems has what each name means.
var problems = map[problemName]problem{
	problemUnauthenticated: {status: http.StatusUnauthorized, text: "nobody is signed in"},
	problemCSRF:            {status: http.StatusBadRequest, text: "csrfToken is missing or not that of the cookie"},
	problemCrossSite:       {status: http.StatusForbidden, text: "the request comes from another site"},
	problemUnknownAudience: {status: http.StatusBadRequest, text: "audience is none that is configured"},
	problemForbidden:       {status: http.StatusForbidden, text: "this person may not have that"},
	problemRateLimited:     {status: http.StatusTooManyRequests, text: "too many requests"},
	problemMalformed:       {status: http.StatusBadRequest, text: "the request cannot be read"},
	problemTooOld:          {status: http.StatusUnauthorized, text: "the sign-in is too long ago for this"},
	problemUnavailable:     {status: http.StatusServiceUnavailable, text: "not available at present, try again"},
}

// refused is the refusal of a route that has Problems.
func refused(name problemName) problem {
	p := problems[name]
	p.name = name
	return p
}

// requestEvents are those of requests as such.
var requestEvents = []audit.Kind{
	{Name: "csrf.refused", Outcome: authsvc.AuditRefused, Meaning: "A POST had no CSRF token or not that of its cookie."},
	{Name: "request.cross_site", Outcome: authsvc.AuditRefused, Meaning: "A POST came from an origin that is neither ours nor trusted."},
	{Name: "request.limited", Outcome: authsvc.AuditRefused, Meaning: "A rate limit refused the request."},
	{Name: "request.failed", Outcome: authsvc.AuditFailed, Meaning: "The request ended by a panic."},
}

// A formerID is another id under which the account of an identity may be in the
// store. The zero value is none.
type formerID struct {
	id string
	// issuer, if not empty, is whose ID token the account there must have.
	issuer string
}

// gateRetry is when to ask again while the store is away.
const gateRetry = 5 * time.Second

// A download is a file that is made while it is sent.
type download struct {
	name  string
	write func(ctx context.Context, w io.Writer) error
}
