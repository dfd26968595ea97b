package authsvc

import (
	"authsvc/internal/pages"
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
}

// object is a JSON body; empty means the mode's "no session" ({} or null).
type object struct {
	v      any
	raw    []byte // already encoded, wins over v
	status int    // 200 if zero
}

// asset is a file that is the same for everyone.
type asset struct {
	body        []byte
	zipped      []byte // body in gzip, if it is sent so; nothing secret is
	contentType string
	cache       string
	etag        string
}

// problem is a request that no client of ours makes.
type problem struct {
	status int
	text   string
	allow  string // Allow header of a 405
}

// noContent is an empty answer.
type noContent struct{ status int }

// json is the outcome object for JSON that is already encoded. It allocates
// nothing, since nearly all requests end so.
func (rq *request) json(raw []byte) outcome {
	rq.answer = object{raw: raw}
	return &rq.answer
}

func (redirect) isOutcome()   {}
func (page) isOutcome()       {}
func (object) isOutcome()     {}
func (asset) isOutcome()      {}
func (problem) isOutcome()    {}
func (noContent) isOutcome()  {}
func (identity) isOutcome()   {}
func (*authError) isOutcome() {}

// identity is what a flow proved. It carries answers, not the kind of
// provider: login never asks for that.
type identity struct {
	user        User    // as mapped from the provider, or as stored for credentials
	account     Account // provider, type and provider account id; tokens if any
	former      formerID
	profile     Profile
	tokenAnswer map[string]any // for paths of claims
	credentials map[string]string
	callbackURL string

	stored        bool   // user is one of the application's own: nothing to find, link or create
	isNew         bool   // there is no stored user
	proof         bool   // the person read mail sent to user.Email
	verified      bool   // the provider vouches for user.Email
	linkVerified  bool   // the operator lets verified addresses link
	linkTo        string // id of the user who asked to add this identity
	linkImplied   bool   // not asked for: implied by being signed in
	plainRedirect bool   // never the new-user page
	createCode    ErrorCode
	accountName   string // accountKey of what was entered; this browser becomes known to it
}
