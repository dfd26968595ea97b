// Package probe attacks programs behind the gate from outside, as a client that is not
// signed in could, and reports where it gets past the gate. It knows the rules. Its
// requests change nothing, unless their method alone does.
package probe

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"authsvc/internal/protocol/weburl"
)

// MaxRequests limits how many requests a run sends.
const MaxRequests = 500

// Options configures a run.
type Options struct {
	Hosts []Host
	// Identity names the headers that tell programs who the user is.
	Identity []string
	// Passes reports whether the rules let a request without a session pass.
	Passes func(origin, method, target string, header http.Header) bool
	// ConnectTo replaces addresses, host:port, by others.
	ConnectTo map[string]string
	Roots     *x509.CertPool // nil: the certificates of the system
	Rate      float64        // requests per second
	Echo      bool           // Echo runs in place of the programs
	Report    func(Finding)
}

// A Host is a program behind the gate.
type Host struct {
	Origin string
	Base   string // path of the routes of the service
	Login  string // address of these routes at the login host
	// Rules has a request that matches each rule and the default, as "METHOD /path" or
	// "/path".
	Rules  []string
	Ports  []string // ports that the program itself is said to listen on
	Cookie string   // of a session, as in the header
}

// Results of an attempt.
const (
	OK      = "ok"
	Hole    = "hole"
	Broken  = "broken"  // not even users with access get in
	Unclear = "unclear" // it is not clear who answered
	Skipped = "skipped"
	Failed  = "failed" // the host was not reached
)

// A Finding is the result of one attempt.
type Finding struct {
	Origin  string `json:"origin"`
	Kind    string `json:"kind"`
	Result  string `json:"result"`
	Request string `json:"request,omitempty"`
	Why     string `json:"why"`
	// Fix says how to close a hole, for each proxy.
	Fix []Fix `json:"fix,omitempty"`
}

// A Fix is for one proxy, or for all if Proxy is "".
type Fix struct {
	Proxy string `json:"proxy,omitempty"`
	Text  string `json:"text"`
}

// A prober is one run.
type prober struct {
	Options
	next time.Time // earliest time of the next request
	mark string    // sent by no other client
}

// A target is a host with the results so far.
type target struct {
	*Host
	p               *prober
	name            string // without port
	authority       string // as in Host
	address         string
	secure          bool
	open, closed    []string // requests of rules: METHOD /path
	refused         []string // closed paths where a GET request was refused
	entered         string   // a path that the session may see
	everythingOpens bool
	noHTTP2         bool // as far as is known
	left            int  // remaining requests
}

// Run attacks every host, one request after the other.
func Run(ctx context.Context, o Options) {
	p := &prober{Options: o, mark: "probe-" + random()}
	for i := range o.Hosts {
		h := p.target(&o.Hosts[i])
		h.left = max(1, MaxRequests/len(o.Hosts))
		p.attack(ctx, h)
	}
}

func random() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// target sorts the requests of rules into open and closed ones.
func (p *prober) target(host *Host) *target {
	h := &target{Host: host, p: p, secure: strings.HasPrefix(host.Origin, "https://")}
	_, h.authority, _ = strings.Cut(host.Origin, "://")
	h.address = h.authority
	h.name = weburl.Hostname(host.Origin)
	if !strings.Contains(h.authority[strings.LastIndexByte(h.authority, ']')+1:], ":") {
		port := "80"
		if h.secure {
			port = "443"
		}
		h.address = net.JoinHostPort(h.name, port)
	}
	for _, text := range host.Rules {
		method, path := split(text)
		switch {
		case path == h.Base || strings.HasPrefix(path, h.Base+"/"): // routes of the service
		case p.Passes(h.Origin, method, path, nil):
			h.open = append(h.open, method+" "+path)
		default:
			h.closed = append(h.closed, method+" "+path)
		}
	}
	return h
}

// split splits "METHOD /path". Without a method, it returns GET.
func split(text string) (method, path string) {
	if method, path, ok := strings.Cut(text, " "); ok {
		return method, path
	}
	return http.MethodGet, text
}

// attack tries every kind on a host.
func (p *prober) attack(ctx context.Context, h *target) {
	dropped := 0
	for i := range kinds {
		k := &kinds[i]
		list, lack := k.attempts(h)
		if h.everythingOpens && k.ofTheCheck {
			list, lack = nil, "everything passes"
		}
		if lack != "" {
			p.Report(Finding{Origin: h.Origin, Kind: k.name, Result: Skipped, Why: lack})
		}
		for _, a := range list {
			if !h.worth(k, &a) {
				continue
			}
			if h.left -= len(a.steps); h.left < 0 || ctx.Err() != nil {
				dropped++
				continue
			}
			f := p.try(ctx, h, k, &a)
			p.Report(f)
			if f.Result == Failed {
				return
			}
		}
	}
	if dropped > 0 {
		p.Report(Finding{Origin: h.Origin, Kind: "all", Result: Skipped,
			Why: fmt.Sprintf("%d attempts are left out: the maximum is %d requests; choose a host", dropped, MaxRequests)})
	}
}

// worth reports whether the rules refuse the request of an attempt. Otherwise the
// answer would show nothing.
func (h *target) worth(k *kind, a *attempt) bool {
	last := &a.steps[len(a.steps)-1]
	if last.http2 && h.noHTTP2 {
		return false
	}
	path := last.target
	if _, rest, absolute := strings.Cut(path, "://"); absolute {
		path = rest[strings.IndexByte(rest+"/", '/'):]
	}
	return a.judge != nil || last.host != "" || !h.p.Passes(h.Origin, last.verb(), path, last.header())
}

// try makes one attempt.
func (p *prober) try(ctx context.Context, h *target, k *kind, a *attempt) Finding {
	var got answer
	for i := range a.steps {
		p.wait(ctx)
		got = p.send(ctx, h, &a.steps[i])
	}
	last := &a.steps[len(a.steps)-1]
	f := Finding{Origin: h.Origin, Kind: k.name, Request: last.text()}
	judge := a.judge
	if judge == nil {
		judge = h.refusedBy
	}
	f.Result, f.Why = judge(a, &got)
	if a.done != nil {
		a.done(f.Result)
	}
	if f.Result == Hole || f.Result == Broken {
		f.Fix = k.fix
	}
	return f
}

// wait waits until the rate allows the next request.
func (p *prober) wait(ctx context.Context) {
	pause := time.Until(p.next)
	if pause > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	p.next = time.Now().Add(time.Duration(float64(time.Second) / p.Rate))
}
