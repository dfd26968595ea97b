package idp

import (
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// Endpoint names a route for counting and for faults.
type Endpoint string

// The endpoints.
const (
	EndpointDiscovery       Endpoint = "discovery"
	EndpointJWKS            Endpoint = "jwks"
	EndpointAuthorize       Endpoint = "authorize"
	EndpointChoose          Endpoint = "choose" // the page's POST
	EndpointToken           Endpoint = "token"
	EndpointUserInfo        Endpoint = "userinfo"
	EndpointOAuth2Authorize Endpoint = "oauth2/authorize"
	EndpointOAuth2Choose    Endpoint = "oauth2/choose"
	EndpointOAuth2Token     Endpoint = "oauth2/token"
	EndpointOAuth2User      Endpoint = "oauth2/user"
	EndpointOAuth1Initiate  Endpoint = "oauth1/initiate"
	EndpointOAuth1Token     Endpoint = "oauth1/token"
	EndpointOAuth1User      Endpoint = "oauth1/user"
	EndpointStyle           Endpoint = "style"
	EndpointAvatar          Endpoint = "avatar"
)

// Fault makes a provider hostile or broken. The zero Fault changes nothing. Functions
// may be called concurrently; they modify the map that they get.
type Fault struct {
	// Intercept runs before an endpoint and reports whether it has answered. It may
	// read the form, hijack the connection, or panic with http.ErrAbortHandler to drop
	// it.
	Intercept map[Endpoint]func(http.ResponseWriter, *http.Request) bool

	// Status makes an endpoint answer with only this status.
	Status map[Endpoint]int

	// Delay delays the answer of an endpoint, as long as the client waits.
	Delay map[Endpoint]time.Duration

	// Discovery edits the metadata document.
	Discovery func(metadata map[string]any)

	// JWKS returns the keys to publish instead of the real ones.
	JWKS func(keys []map[string]any) []map[string]any

	// Callback edits the authorization response: code, state, iss or error.
	Callback func(params url.Values)

	// TokenAnswer edits the JSON of a successful token response.
	TokenAnswer func(answer map[string]any)

	// IDToken edits the claims before they are signed. IDTokenHeader edits the JOSE
	// header, without effect on the signing. Signing selects how to sign.
	IDToken       func(claims map[string]any)
	IDTokenHeader func(header map[string]any)
	Signing       Signing

	// RawIDToken returns the whole ID token, instead of Signing and IDTokenHeader.
	RawIDToken func(claims map[string]any) string

	// UserInfo edits the answer of the userinfo endpoint, User the answer of
	// /oauth2/user.
	UserInfo func(claims map[string]any)
	User     func(user map[string]any)
}

// SetFault sets the fault of later requests. SetFault(Fault{}) ends it. The maps of f
// must not be changed afterwards.
func (p *Provider) SetFault(f Fault) {
	p.faultMu.Lock()
	defer p.faultMu.Unlock()
	p.faults = f
}

func (p *Provider) fault() Fault {
	p.faultMu.RLock()
	defer p.faultMu.RUnlock()
	return p.faults
}

// Calls returns how many requests an endpoint has had, including requests that it
// refused or that a fault answered.
func (p *Provider) Calls(e Endpoint) int {
	c, ok := p.calls[e]
	if !ok {
		return 0
	}
	return int(c.Load())
}

type counter = atomic.Int64

// misbehave applies the faults that come before an endpoint. It reports whether it
// answered the request.
func (f Fault) misbehave(e Endpoint, w http.ResponseWriter, r *http.Request) bool {
	if d := f.Delay[e]; d > 0 {
		_ = r.ParseForm() // the server only notices a disconnected client after the body is read
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return true
		}
	}
	if intercept := f.Intercept[e]; intercept != nil && intercept(w, r) {
		return true
	}
	if status := f.Status[e]; status != 0 {
		w.WriteHeader(status)
		return true
	}
	return false
}
