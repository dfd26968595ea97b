package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"authsvc"
	"authsvc/engine/internal/cookie"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/outbound"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
)

// A request is one call of the interface while it is being answered. It collects
// cookies; the action's outcome decides the answer.
type request struct {
	*site
	ctx        context.Context
	r          *http.Request
	flow       flow   // of the :provider segment, else nil
	code       string // of error/:code
	route      *route // nil: no route has the path
	place      place  // see at
	jar        cookie.Jar
	body       *body // of a POST, else nil
	asksJSON   bool  // the form could not be parsed, but contains json=true
	now        time.Time
	waitsSince time.Time // since when it waits for others, by this machine's clock; zero: not yet

	to                          statusWriter    // of the answer
	set                         []cookie.Cookie // to be written
	queryVals                   url.Values
	callbackTo                  string
	csrfRead                    bool
	csrfValue                   string // the verified token
	csrfClaim                   string // token of the cookie, perhaps of another session
	sidRead                     bool
	sidValue                    string
	sessionRead, sessionPresent bool
	sessionValue                string
	unrouted                    bool // no action answers it
	internal                    bool // it came to one of Config.InternalHosts
	unknownKey                  bool // the session cookie names a key that is not ours
	id                          string
	retryAfter                  time.Duration
	audited                     bool   // its result is recorded
	quiet                       bool   // it was counted as a repetition: write no log line
	auditUser                   string // the user that it is about, once known
	auditActor                  string // the token that acts for the user
	stepUpUser                  string // id of the user who proves again who they are
	stepUpTry                   int    // number of this try in the session; 0: not counted yet
	signsOut                    bool
	pairBuf                     [4]cookie.Pair
	answer                      object    // see json
	buf                         [320]byte // for short bodies of answers
}

// hooks holds the functions that requests need from the storeys above.
type hooks struct {
	sessionID func(raw string, now time.Time) string // names a session, without a store call
	place     func(host string) place
	elsewhere func(*request) outcome // answers requests that the host does not serve
	waits     func(*request) bool    // an attempt is bound to the CSRF token that the browser claims
}

func (st *site) newRequest(r *http.Request) *request {
	rq := new(request)
	st.begin(rq, r)
	return rq
}

// begin sets rq, which must be zero, to answer r.
func (st *site) begin(rq *request, r *http.Request) {
	rq.site, rq.ctx, rq.r, rq.now = st, r.Context(), r, st.fleet.Now()
	rq.jar.Names = &st.names
	rq.jar.Parse(r.Header, rq.pairBuf[:])
}

// act finds the route, reads the body, checks the origin and runs the action.
func (rq *request) act() (out outcome) {
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler { //nolint:errorlint // a sentinel that is compared so in net/http
				panic(v)
			}
			if rq.audited || rq.audit("request.failed", "", "a panic", fmt.Errorf("%.200v", v)) {
				rq.Log.Error("panic", "request", rq.requestID(), "path", rq.r.URL.Path,
					"panic", fmt.Sprintf("%.200v", v), "stack", string(debug.Stack()))
			}
			rq.set = nil
			out = problem{status: http.StatusInternalServerError, text: "internal error, request " + rq.requestID()}
		}
	}()
	if out := misdirected(rq); out != nil {
		return out
	}
	if out := find(rq); out != nil {
		if rq.r.Method == http.MethodPost && strings.HasPrefix(rq.r.URL.EscapedPath(), rq.basePath+"/") {
			rq.unrouted = true
			readBody(rq) // the body says whether a script must be answered
		}
		return out
	}
	if rq.r.Method == http.MethodGet {
		return rq.route.get(rq)
	}
	if out := readBody(rq); out != nil {
		return out
	}
	if !rq.route.isForeign(rq) && !rq.sameSite() {
		return refuseCrossSite(rq)
	}
	return rq.route.post(rq)
}

// sid returns the id of the session that the CSRF token is bound to, "" without one.
func (rq *request) sid() string {
	if !rq.sidRead {
		rq.sidRead = true
		if raw := rq.sessionCookieValue(); raw != "" {
			rq.sidValue = rq.hooks.sessionID(raw, rq.now)
		}
	}
	return rq.sidValue
}

// sessionCookieValue returns the value of the session cookie, joined from its parts; ""
// if there is none or the parts do not fit together.
func (rq *request) sessionCookieValue() string {
	if !rq.sessionRead {
		rq.sessionRead = true
		rq.sessionValue, rq.sessionPresent = rq.at().cookie(&rq.jar)
	}
	return rq.sessionValue
}

// query returns a query parameter if it occurs exactly once.
func (rq *request) query(name string) string {
	if v := rq.queryValues()[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

func (rq *request) queryValues() url.Values {
	if rq.queryVals == nil {
		if len(rq.r.URL.RawQuery) > 16<<10 {
			rq.queryVals = url.Values{}
			return rq.queryVals
		}
		rq.queryVals = rq.r.URL.Query()
	}
	return rq.queryVals
}

// requestID returns the id of the request. It is made when a page or a log line first
// needs it.
func (rq *request) requestID() string {
	if rq.id == "" {
		rq.id = fmt.Sprintf("%x", seal.Random(6))
	}
	return rq.id
}

// wantsJSON reports whether the caller is a script that wants {url}.
func (rq *request) wantsJSON() bool {
	if rq.r.Method != http.MethodPost || rq.internal || rq.route == &gateRoute { // a proxy would take 200 for a yes
		return false
	}
	return rq.r.Header.Get("X-Auth-Return-Redirect") != "" || rq.asksJSON || rq.body != nil && rq.body.get("json") == "true"
}

// locales returns the languages that the user asked for: ui_locales, which forms repeat
// from their page, and Accept-Language.
func (rq *request) locales() (uiLocales, acceptLanguage string) {
	uiLocales = rq.query("ui_locales")
	if uiLocales == "" && rq.body != nil {
		uiLocales = rq.body.get("ui_locales")
	}
	return uiLocales, rq.r.Header.Get("Accept-Language")
}

// askedLocales returns the ui_locales of a page for its forms to repeat, up to a length
// that suffices for a dozen languages.
func (rq *request) askedLocales() string {
	if asked, _ := rq.locales(); len(asked) <= 100 {
		return asked
	}
	return ""
}

// language returns the language of pages.
func (rq *request) language() string { return rq.pages.Language(rq.locales()) }

// refusal logs e and turns it into the redirect to the error page, which shows the same
// request id.
func (rq *request) refusal(e *authError) outcome {
	level := slog.LevelInfo
	var more []any
	var m *operatorMistake
	switch {
	case errors.As(e.Err, &m):
		level, more = slog.LevelWarn, []any{"field", m.field, "fix", m.fix}
	case errors.Is(e.Err, outbound.ErrUnavailable) && !errors.Is(e.Err, context.Canceled): // the client did not leave
		level = slog.LevelWarn
	}
	if e.Code == authsvc.CodeConfiguration || e.Code == authsvc.CodeCallback || errors.Is(e.Err, fleet.ErrStore) {
		level = slog.LevelError
	}
	rq.auditRefusal(e)
	rq.keepTypedForm()
	if !rq.quiet {
		rq.Log.Log(rq.ctx, level, "sign-in refused", append([]any{"code", string(e.Code), "request", rq.requestID(),
			"provider", rq.providerID(), "cause", e.Err}, more...)...)
	}
	status := 0
	switch {
	case errors.Is(e.Err, fleet.ErrStore):
		status = http.StatusServiceUnavailable
	case e.Code == authsvc.CodeRateLimited:
		status = http.StatusTooManyRequests
	case e.Code == authsvc.CodeCredentialsSignin:
		status = http.StatusUnauthorized
	case e.Code == authsvc.CodeAccessDenied && (rq.dialect.forbids || rq.flow == nil || rq.flow.info().forScripts):
		status = http.StatusForbidden
	}
	to := rq.errorURL(e.Code)
	if h := e.hint(); h != "" && (rq.flow != nil || errors.Is(e.Err, fleet.ErrStore)) {
		about := rq.providerID()
		if errors.Is(e.Err, fleet.ErrStore) || h == hintUnavailable && e.Code == authsvc.CodeAccessDenied { // the store or a hook, not the provider
			about = ""
		}
		to = weburl.WithQuery(to, "provider", about, "reason", string(h))
	}
	return redirect{to: to, status: status}
}

func (rq *request) providerID() string {
	if rq.flow == nil {
		return ""
	}
	return rq.flow.info().id
}
