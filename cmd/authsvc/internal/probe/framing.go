package probe

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// framings requests a closed path with a body whose length is given in two ways. Both
// give the same length, so that no server and its proxy disagree where another client's
// next request begins.
func framings(h *target) ([]attempt, string) {
	closed, lack := h.firstClosed()
	if lack != "" {
		return nil, lack
	}
	const end = "0\r\n\r\n" // of a chunked body, five bytes
	list := odds(closed, "Content-Length: 5\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\nContent-Length: 5", "Content-Length: 5\nTransfer-Encoding : chunked",
		"Content-Length: 5\nTransfer-Encoding: xchunked", "Content-Length: 5\nContent-Length: 5", "Content-Length: 5\nTransfer-Encoding: identity, chunked", "Transfer-Encoding: chunked\nTransfer-Encoding: chunked")
	for i := range list {
		list[i].steps[0].method, list[i].steps[0].body = http.MethodPost, end
	}
	return list, ""
}

// keptCookies requests pages that set a cookie, as a person's browser does. A user who
// does not get the cookie can never sign in.
func keptCookies(h *target) ([]attempt, string) {
	closed, lack := h.firstClosed()
	if lack != "" {
		return nil, lack
	}
	person := []string{"Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}
	list := []attempt{{steps: []request{{target: h.Base + "/gate/start?to=" + url.QueryEscape(closed), lines: person}}, judge: h.started}}
	if strings.HasPrefix(h.Login, h.Origin+"/") {
		list = append(list, attempt{steps: []request{{target: h.Base + "/csrf"}}, judge: h.sets("csrf")})
	}
	return list, ""
}

// started judges the answer of gate/start. It must redirect to the login host and,
// unless the session cookie is also for this host, set a cookie.
func (h *target) started(a *attempt, got *answer) (result, why string) {
	to := ""
	if got.header != nil {
		to = got.header.Get("Location")
	}
	switch {
	case got.err != nil:
		return Unclear, got.err.Error()
	case got.status == http.StatusFound && h.gateSaid(got):
		return Broken, "people cannot sign in: " + h.Base + "/gate/start is itself checked, and redirects to itself"
	case got.status == http.StatusFound && strings.HasPrefix(to, h.Login+"/gate/authorize?"):
		return h.sets(".gate-tx.")(a, got)
	case got.status == http.StatusFound && strings.HasPrefix(to, h.Login+"/"):
		return OK, "redirects to the login host, whose cookie is also for this host"
	case got.echo != nil:
		return Broken, "people cannot sign in: " + h.Base + "/ leads to the program, not to authsvc"
	}
	return Broken, fmt.Sprintf("people cannot sign in: %s/gate/start answered %d, and does not redirect to the login host", h.Base, got.status)
}

// sets judges an answer of authsvc that must set a cookie whose name contains name.
func (h *target) sets(name string) func(*attempt, *answer) (result, why string) {
	return func(_ *attempt, got *answer) (string, string) {
		switch {
		case got.err != nil:
			return Unclear, got.err.Error()
		case got.status >= 400:
			return Broken, fmt.Sprintf("people cannot sign in: answered %d, not as authsvc does", got.status)
		case !slices.ContainsFunc(got.header["Set-Cookie"], func(line string) bool {
			given, value, _ := strings.Cut(line, "=")
			return strings.Contains(given, name) && !strings.HasPrefix(value, ";")
		}):
			return Broken, fmt.Sprintf("people cannot sign in: answered %d without the cookie that authsvc sets (…%s…)", got.status, name)
		}
		return OK, fmt.Sprintf("answered %d with a cookie", got.status)
	}
}
