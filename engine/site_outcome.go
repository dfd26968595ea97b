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

// An outcome is the result of an action. Actions return values and only respond writes
// them, so that every rule about headers, cookies and JSON answers is in one place.
//
//	identity   a person proved who they are: login continues from here
//	redirect   to another address
//	page       one of the built-in pages
//	object     JSON
//	problem    the request itself was wrong
//	asset      a static file
//	download   a file that is made while it is sent
//	noContent  an empty answer
//	*authError a refusal with its error code
type outcome interface{ isOutcome() }

// redirect sends the browser to an absolute URL. status is the status of the JSON
// answer, 200 if zero. A plain answer is always 302.
type redirect struct {
	to     string
	status int
}

// page is a built-in page.
type page struct {
	name   pages.Name
	view   any
	status int // 200 if zero
	// pictures is the origin of a picture that the page shows.
	pictures string
	// anyHost means that the page is shown at hosts other than the service's. framed
	// means that pages of that host may also frame it.
	anyHost, framed bool
}

// of returns the pages for the host at which p is shown.
func (p page) of(all *pages.Pages) *pages.Pages {
	if p.anyHost {
		return all.AtAnyHost()
	}
	return all
}

// frameOptions returns X-Frame-Options for browsers that do not know frame-ancestors.
func (p page) frameOptions() string {
	if p.framed {
		return "SAMEORIGIN"
	}
	return "DENY"
}

// object is a JSON body.
type object struct {
	v      any
	raw    []byte // already encoded, wins over v
	status int    // 200 if zero

	contentType []string // application/json if nil
}

// asset is a file that is the same for everyone.
type asset struct {
	body        []byte
	zipped      []byte // gzip of body, if it may be sent; it contains nothing secret
	contentType string
	cache       string
	etag        string
}

// problem is a plain refusal or error: a status and a text. For a route that
// hasProblems, it is written as problem details (RFC 9457). Their type is that of name
// or, if name is empty, of the status.
type problem struct {
	status int
	text   string
	allow  string // Allow header of a 405
	name   problemName
	// challenge is the WWW-Authenticate header of a 401 (RFC 9110 section 11.6.1).
	challenge string
	signIn    string // where the user signs in
	maxAge    int    // longest time since the sign-in, in seconds
}

// noContent is an empty answer.
type noContent struct{ status int }

// json returns the outcome for JSON that is already encoded. It allocates nothing,
// since nearly all requests end here.
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

// identity is the result of a flow: the person who signs in. login depends only on
// these values and never asks for the kind of provider.
type identity struct {
	user        authsvc.User    // as mapped from the provider, or as stored for credentials
	owner       *authsvc.User   // the stored user with user.Email, zero if there was none; nil: not looked up
	account     authsvc.Account // provider, type and provider account id; tokens if any
	former      formerID
	profile     authsvc.Profile
	tokenAnswer map[string]any // for the paths of claims
	credentials map[string]string
	callbackURL string

	stored        bool      // user belongs to the application: nothing to find, link or create
	isNew         bool      // there is no stored user
	proof         bool      // the person read mail sent to user.Email
	verified      bool      // the provider vouches for user.Email
	linkVerified  bool      // the operator lets verified addresses link
	linkTo        string    // id of the user who asked to add this identity
	linkImplied   bool      // the user did not ask to link: being signed in implies it
	stepUpUser    string    // id of the user whom this person must be
	again         bool      // without storage: asked for a fresh proof in spite of a session
	cannotAsk     bool      // the provider cannot be made to ask the person again
	authTime      time.Time // when the person proved who they are; zero: unknown
	plainRedirect bool      // never to the new-user page
	createCode    authsvc.ErrorCode
	accountName   string // accountKey of what was entered; this browser becomes known to it
}

// A problemName identifies a Problem for programs: it is the last part of the Problem's
// type (RFC 9457). Routes that NextAuth.js has keep its answers instead.
type problemName string

// Names of Problems.
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

// problems holds the status and text of each name.
var problems = map[problemName]problem{
	problemUnauthenticated: {status: http.StatusUnauthorized, text: "not signed in"},
	problemCSRF:            {status: http.StatusBadRequest, text: "csrfToken is missing or does not match the cookie"},
	problemCrossSite:       {status: http.StatusForbidden, text: "the request comes from another site"},
	problemUnknownAudience: {status: http.StatusBadRequest, text: "audience is not configured"},
	problemForbidden:       {status: http.StatusForbidden, text: "this user has no permission"},
	problemRateLimited:     {status: http.StatusTooManyRequests, text: "too many requests"},
	problemMalformed:       {status: http.StatusBadRequest, text: "the request cannot be read"},
	problemTooOld:          {status: http.StatusUnauthorized, text: "the sign-in is too old for this"},
	problemUnavailable:     {status: http.StatusServiceUnavailable, text: "temporarily unavailable, try again"},
}

// refused returns the refusal by a route that has Problems.
func refused(name problemName) problem {
	p := problems[name]
	p.name = name
	return p
}

// requestEvents are the audit events of requests as such.
var requestEvents = []audit.Kind{
	{Name: "csrf.refused", Outcome: authsvc.AuditRefused, Meaning: "A POST had no CSRF token, or one that does not match its cookie."},
	{Name: "request.cross_site", Outcome: authsvc.AuditRefused, Meaning: "A POST came from an origin that is neither the service's own nor trusted."},
	{Name: "request.limited", Outcome: authsvc.AuditRefused, Meaning: "A rate limit refused the request."},
	{Name: "request.failed", Outcome: authsvc.AuditFailed, Meaning: "The request ended in a panic."},
}

// A formerID is another id that an identity's account may have in the store. The zero
// value is none.
type formerID struct {
	id string
	// issuer, if not empty, is the issuer that the ID token of the stored account must
	// have.
	issuer string
}

// gateRetry is the Retry-After of the gate while the store does not answer.
const gateRetry = 5 * time.Second

// A download is a file that is made while it is sent.
type download struct {
	name  string
	write func(ctx context.Context, w io.Writer) error
}
