package idp

import (
	"encoding/json"
	"net/http"
	"strings"
)

// face is one of the two sets of endpoints. The plain one never has the openid scope.
type face struct {
	prefix string // of the paths below the issuer
	openid bool
}

var (
	openidFace = face{prefix: "", openid: true}
	plainFace  = face{prefix: "/oauth2"}
)

// route builds the table of all routes.
func (p *Provider) route() {
	p.mux = http.NewServeMux()
	p.calls = make(map[Endpoint]*counter)
	add := func(e Endpoint, pattern string, h http.HandlerFunc) {
		if p.calls[e] == nil {
			p.calls[e] = new(counter)
		}
		method, path, _ := strings.Cut(pattern, " ")
		p.mux.HandleFunc(method+" "+p.base+path, p.watched(e, h))
	}
	p.mux.HandleFunc("GET "+p.base+"/{$}", p.index)
	p.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	add(EndpointDiscovery, "GET /.well-known/openid-configuration", p.discovery)
	add(EndpointJWKS, "GET /jwks", p.jwks)
	add(EndpointAuthorize, "GET /authorize", p.authorize(openidFace))
	add(EndpointAuthorize, "POST /authorize", p.authorize(openidFace))
	add(EndpointChoose, "POST /authorize/choose", p.choose(openidFace))
	add(EndpointToken, "POST /token", p.token)
	add(EndpointUserInfo, "GET /userinfo", p.userInfo)
	add(EndpointUserInfo, "POST /userinfo", p.userInfo)
	add(EndpointOAuth2Authorize, "GET /oauth2/authorize", p.authorize(plainFace))
	add(EndpointOAuth2Choose, "POST /oauth2/authorize/choose", p.choose(plainFace))
	add(EndpointOAuth2Token, "POST /oauth2/token", p.token)
	add(EndpointOAuth2User, "GET /oauth2/user", p.user)
	p.oauth1Routes(add)
	add(EndpointStyle, "GET "+p.pages.stylePath, p.pages.serveStyle)
	add(EndpointAvatar, "GET /avatar/{file}", p.avatar)
}

// ServeHTTP answers requests under the issuer. It refuses a foreign Host: otherwise,
// with a name that an attacker rebinds to the loopback address, any web site could read
// the answers.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "strict-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", pagePolicy)
	if !strings.EqualFold(r.Host, p.host) {
		http.Error(w, "this host is not served here", http.StatusMisdirectedRequest)
		return
	}
	p.mux.ServeHTTP(w, r)
}

// watched counts requests, limits their bodies, and applies faults first.
func (p *Provider) watched(e Endpoint, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.calls[e].Add(1)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if p.fault().misbehave(e, w, r) {
			return
		}
		next(w, r)
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "cannot encode the answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}
