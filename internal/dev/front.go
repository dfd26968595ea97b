package dev

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/plainlog"
)

// hasFront reports whether browsers open another server on this machine, that of
// --url, which passes /api/auth on.
func (w *world) hasFront() bool { return !w.Shared && w.origin != w.local }

// passedOn sets what `serve` needs behind such a server, so that both refuse the same
// requests: X-Forwarded-Host counts from this machine, and at dev's own address only the
// application's server may ask.
func (w *world) passedOn(config *authsvc.Config) {
	config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	config.ForwardedHost = true
	config.InternalHosts = []string{hostOf(w.local)}
}

// redirect lets a callbackUrl lead to the service and to every program on this machine. It
// is the Redirect callback of a service that only this machine can reach; serve has a list
// instead.
func redirect(_ context.Context, to, own string) string {
	if strings.HasPrefix(to, "/") {
		return to // the engine allows only paths
	}
	if origin, clean, ok := weburl.Parse(to); ok && (origin == own || loopbackOrigin(origin)) {
		return clean
	}
	return ""
}

func hostOf(origin string) string {
	return strings.TrimPrefix(strings.TrimPrefix(origin, "https://"), "http://")
}

// guard passes requests for the service's routes to the service unchanged. It answers
// only to the hosts of dev: a name that an attacker points at 127.0.0.1 must not reach
// the inbox (DNS rebinding). So X-Forwarded-Host counts only beside a name of dev.
func (w *world) guard(next http.Handler) http.Handler {
	hosts := []string{hostOf(w.origin), hostOf(w.local)}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		meant := r
		if forService(r) && w.ownName(r.Host) {
			meant = w.service.Forwarded(r)
		}
		switch {
		case w.renamed(meant):
			http.Error(rw, "the development server must pass on the Host header (Vite: changeOrigin: false), or name it in X-Forwarded-Host; open "+w.origin, http.StatusMisdirectedRequest)
			w.proxied.Do(func() {
				fmt.Fprintf(w.Out, "Requests arrive with the Host %s instead of the host of %s: the server in between must pass it on (Vite: changeOrigin: false), or name it in X-Forwarded-Host.\n",
					plainlog.Text(r.Host), w.origin)
			})
		case !slices.Contains(hosts, meant.Host) && w.otherName(r):
			http.Redirect(rw, r, w.local+r.URL.RequestURI(), http.StatusTemporaryRedirect) // #nosec G710 -- our own origin, and otherName wants a path
		case !slices.Contains(hosts, meant.Host):
			http.Error(rw, "open "+w.local, http.StatusMisdirectedRequest)
		case forService(r):
			w.advise(r, meant)
			w.service.ServeHTTP(rw, meant)
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

func forService(r *http.Request) bool {
	return r.URL.Path == "/api/auth" || strings.HasPrefix(r.URL.Path, "/api/auth/")
}

// renamed reports whether a request for the service comes from the development server
// of --url with a Host of its own. A redirect would not help its pages. The
// application's server may ask at dev's own address, as at one of internal_hosts.
func (w *world) renamed(r *http.Request) bool {
	if w.URL == "" || !forService(r) || r.Host == hostOf(w.origin) {
		return false
	}
	asked := slices.Contains([]string{"GET /api/auth/session", "GET /api/auth/jwks", "POST /api/auth/token"}, r.Method+" "+r.URL.Path)
	return r.Host != hostOf(w.local) || w.hasFront() && !asked
}

// advise prints, once each, what a front end still needs: the keys of serve, or --url.
func (w *world) advise(r, meant *http.Request) {
	if meant.Host != r.Host {
		w.named.Do(func() {
			fmt.Fprintf(w.Out, "Your server passes requests on with X-Forwarded-Host. Behind it, serve needs forwarded_host: true, and trusted_proxies or proxy_keys.\n")
		})
		return
	}
	if w.hasFront() && r.Host == hostOf(w.local) {
		w.asked.Do(func() {
			fmt.Fprintf(w.Out, "Your server reads sessions at %s. For serve, list the host and port that it uses there in internal_hosts.\n", w.local)
		})
		return
	}
	front := &url.URL{Scheme: "http", Host: r.Header.Get("X-Forwarded-Host")}
	if w.Shared || w.URL != "" || front.Host == r.Host || !weburl.Loopback(front.Hostname()) {
		return
	}
	w.strayed.Do(func() {
		fmt.Fprintf(w.Out, "A server at %[1]s passes requests on, and people cannot sign in there: start authsvc dev --url %[1]s\n", plainlog.Text(front.String()))
	})
}
