package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Header values that are the same in every answer. They are shared and must not change.
var (
	hVaryCookie = []string{"Cookie"}
	hNoStore    = []string{"private, no-cache, no-store"}
	hNoSniff    = []string{"nosniff"}
	hNoRef      = []string{"no-referrer"}
	hJSON       = []string{"application/json; charset=utf-8"}
	hHTML       = []string{"text/html; charset=utf-8"}
	hText       = []string{"text/plain; charset=utf-8"}
	hProblem    = []string{"application/problem+json"}
	hPragma     = []string{"no-cache"}
	hExpires    = []string{"0"}
	hOwnSite    = []string{"same-origin"}
	hSameSite   = []string{"same-site"}
	hEmpty      = []string{""}
	hNoPowers   = []string{"camera=(), geolocation=(), microphone=(), payment=(), usb=()"}
)

// respond writes the answer of an outcome, and counts it. No other code writes
// outcomes.
func (rq *request) respond(w http.ResponseWriter, out outcome) {
	rq.to = statusWriter{ResponseWriter: w}
	defer countAnswer(rq)
	answer{rq, &rq.to}.write(out)
}

// An answer writes the outcome of one request.
type answer struct {
	*request
	w http.ResponseWriter
}

func (a answer) write(out outcome) {
	h := a.w.Header()
	h["X-Content-Type-Options"] = hNoSniff
	h["Referrer-Policy"] = hNoRef
	h["Cross-Origin-Resource-Policy"] = hOwnSite
	if a.hsts != nil && !a.internal {
		h["Strict-Transport-Security"] = a.hsts
	}
	if a.cors(h) {
		h["Cross-Origin-Resource-Policy"] = hSameSite
	}
	if a.route.isOwn() {
		h.Add("Vary", "Cookie, Accept")
	}
	if o, ok := out.(asset); ok {
		a.writeAsset(o)
		return
	}
	h["Cache-Control"] = hNoStore
	h["Pragma"], h["Expires"] = hPragma, hExpires
	if e, ok := out.(*authError); ok {
		out = a.refusal(e)
	}
	for i := range a.set {
		h["Set-Cookie"] = append(h["Set-Cookie"], a.set[i].Line(a.names.Secure))
	}
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((a.retryAfter+time.Second-1)/time.Second)))
	}
	switch o := out.(type) {
	case redirect:
		a.writeRedirect(o)
	case object:
		a.writeObject(o)
	case *object:
		a.writeObject(*o)
	case page:
		a.writePage(o)
	case download:
		a.writeDownload(o)
	case problem:
		a.writeProblem(o)
	case noContent:
		a.w.WriteHeader(o.status)
	default:
		panic(fmt.Sprintf("authsvc: cannot write outcome %T", out))
	}
}

func (a answer) writeRedirect(o redirect) {
	if a.wantsJSON() {
		a.writeObject(object{v: map[string]string{"url": o.to}, status: o.status})
		return
	}
	a.w.Header().Set("Location", o.to)
	a.w.WriteHeader(http.StatusFound)
}

func (a answer) writeObject(o object) {
	raw := o.raw
	if raw == nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false) // as JSON.stringify does; browsers never sniff the answer as HTML
		err := enc.Encode(o.v)
		raw = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
		if err != nil {
			a.Log.Error("cannot encode the answer as JSON", "request", a.requestID(), "err", err)
			a.writeProblem(problem{status: http.StatusInternalServerError, text: "internal error, request " + a.requestID()})
			return
		}
	}
	a.w.Header()["Content-Type"] = hJSON
	if o.contentType != nil {
		a.w.Header()["Content-Type"] = o.contentType
	}
	if o.status != 0 {
		a.w.WriteHeader(o.status)
	}
	a.w.Write(raw) //nolint:errcheck // the client has gone
}

func (a answer) writePage(o page) {
	doc, err := o.of(a.pages).Render(o.name, a.language(), o.view)
	if err != nil {
		a.Log.Error("cannot render the page", "page", string(o.name), "request", a.requestID(), "err", err)
		a.writeProblem(problem{status: http.StatusInternalServerError, text: "internal error, request " + a.requestID()})
		return
	}
	h := a.w.Header()
	h["Content-Type"] = hHTML
	h.Set("Content-Security-Policy", a.pages.Policy(o.name, o.pictures))
	h.Set("X-Frame-Options", o.frameOptions())
	h["Cross-Origin-Opener-Policy"] = hOwnSite
	h["Permissions-Policy"] = hNoPowers
	h.Set("Referrer-Policy", "strict-origin") // with no-referrer, Chromium would post Origin: null
	if o.status != 0 {
		a.w.WriteHeader(o.status)
	}
	a.w.Write(doc) // #nosec G705 -- html/template has escaped it //nolint:errcheck
}

func (a answer) writeProblem(o problem) {
	if a.route.hasProblems() {
		a.writeProblemDetails(o)
		return
	}
	if a.wantsJSON() {
		if o.allow != "" {
			a.w.Header().Set("Allow", o.allow)
		}
		a.writeObject(object{v: map[string]string{"url": a.errorURL("Default")}, status: o.status})
		return
	}
	h := a.w.Header()
	h["Content-Type"] = hText
	if o.allow != "" {
		h.Set("Allow", o.allow)
	}
	a.w.WriteHeader(o.status)
	a.w.Write([]byte(o.text)) //nolint:errcheck
}

func (a answer) writeAsset(o asset) {
	h := a.w.Header()
	h.Set("Cache-Control", o.cache)
	if o.etag != "" {
		h.Set("ETag", o.etag)
		if sameETag(a.r.Header["If-None-Match"], o.etag) {
			a.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", o.contentType)
	body := o.body
	if o.zipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(a.r.Header.Get("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			body = o.zipped
		}
	}
	a.w.Write(body) //nolint:errcheck
}

// cookieChallenge is the challenge for clients that must sign in.
const cookieChallenge = `Cookie realm="authsvc"`

// writeProblemDetails writes a Problem (RFC 9457). A problem without a name gets one
// from its status. If the status has no name, the answer says no more than the status.
func (a answer) writeProblemDetails(o problem) {
	switch {
	case o.name != "":
	case o.status == http.StatusServiceUnavailable:
		o.name = problemUnavailable
	case o.status == http.StatusBadRequest, o.status == http.StatusRequestEntityTooLarge, o.status == http.StatusUnsupportedMediaType:
		o.name = problemMalformed
	}
	kind, title := "about:blank", http.StatusText(o.status)
	if o.name != "" {
		kind, title = "urn:authsvc:problem:"+string(o.name), problems[o.name].text
	}
	if o.allow != "" {
		a.w.Header().Set("Allow", o.allow)
	}
	if o.challenge == "" && o.signIn != "" { // RFC 9110 section 15.5.2 requires a challenge
		o.challenge = cookieChallenge
	}
	if o.challenge != "" {
		a.w.Header().Set("WWW-Authenticate", o.challenge)
	}
	body := struct {
		Type    string `json:"type"`
		Title   string `json:"title"`
		Status  int    `json:"status"`
		Detail  string `json:"detail,omitempty"`
		Request string `json:"request"`
		SignIn  string `json:"signin,omitempty"`
		MaxAge  int    `json:"max_age,omitempty"`
	}{kind, title, o.status, o.text, a.requestID(), o.signIn, o.maxAge}
	if body.Detail == title {
		body.Detail = ""
	}
	a.writeObject(object{v: body, status: o.status, contentType: hProblem})
}

// cors adds the CORS headers if the request is from a trusted origin, and reports
// whether it did. Other origins never get them.
func (a answer) cors(h http.Header) bool {
	if len(a.origins.trusted) == 0 || a.internal {
		return false
	}
	h.Add("Vary", "Origin")
	origin := a.r.Header["Origin"]
	if len(origin) != 1 || !a.origins.trusted[origin[0]] || !a.route.allowsCORS(a.request) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin[0])
	h.Set("Access-Control-Allow-Credentials", "true")
	if a.r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers", "content-type, x-auth-return-redirect")
		h.Set("Access-Control-Max-Age", "600")
	}
	return true
}

// writeDownload sends a file. If the file cannot be finished, writeDownload breaks the
// connection, so that the client does not take the file for complete.
func (a answer) writeDownload(o download) {
	h := a.w.Header()
	h["Content-Type"] = hJSON
	h.Set("Content-Disposition", `attachment; filename="`+o.name+`"`)
	if err := o.write(a.ctx, a.w); err != nil {
		a.Log.Error("cannot send the whole file", "request", a.requestID(), "err", err)
		panic(http.ErrAbortHandler)
	}
}
