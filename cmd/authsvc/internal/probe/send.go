package probe

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Bounds of one request.
const (
	dialTime  = 3 * time.Second
	wholeTime = 10 * time.Second
	maxAnswer = 64 << 10 // bytes of a body that are read
)

// A request is sent as it is written: net/http would mend what is odd about it.
type request struct {
	method, target string   // default: GET
	host           string   // default: that of the origin
	lines          []string // of the header, over the usual ones
	cookie         bool     // with the session, if there is one
	at             string   // another address than that of the origin, host:port, by http
	http2          bool
	body           string
}

// text is the request for people.
func (r *request) text() string {
	s := r.verb() + " " + r.target
	if r.at != "" {
		s += " at http://" + r.at
	}
	var with []string
	if r.host != "" {
		with = append(with, "Host: "+r.host)
	}
	if with = append(with, r.lines...); len(with) > 0 {
		s += " with " + strings.Join(with, " | ")
	}
	if r.http2 {
		s += ", by HTTP/2"
	}
	if r.cookie {
		s += ", signed in"
	}
	return s
}

func (r *request) verb() string {
	if r.method == "" {
		return http.MethodGet
	}
	return r.method
}

// header is what the gate is asked about.
func (r *request) header() http.Header {
	h := http.Header{}
	for _, line := range r.lines {
		if name, v, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			h.Add(strings.TrimSpace(name), strings.TrimSpace(v))
		}
	}
	return h
}

// usual are the lines that every request has, but for those that it has itself.
func (r *request) usual() (lines []string) {
	for _, usual := range [][2]string{{"User-Agent", "authsvc-probe"}, {"Accept", "application/json"}, {"Sec-Fetch-Mode", "cors"}} {
		if !r.said(usual[0]) {
			lines = append(lines, usual[0]+": "+usual[1])
		}
	}
	return lines
}

// said reports whether a header is among the lines.
func (r *request) said(name string) bool {
	return slices.ContainsFunc(r.lines, func(l string) bool {
		return len(l) > len(name) && strings.EqualFold(l[:len(name)], name) && l[len(name)] == ':'
	})
}

// write is the request on the wire.
func (r *request) write(host, cookie string) string {
	if r.host != "" {
		host = r.host
	}
	lines := []string{r.verb() + " " + r.target + " HTTP/1.1"}
	if !r.said("Host") {
		lines = append(lines, "Host: "+host)
	}
	lines = append(lines, r.usual()...)
	if !r.said("Connection") {
		lines = append(lines, "Connection: close")
	}
	lines = append(lines, r.lines...)
	if r.cookie && cookie != "" && r.at == "" && r.host == "" {
		lines = append(lines, "Cookie: "+cookie)
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + r.body
}

// An answer is what came back; with err nothing did.
type answer struct {
	status int
	header http.Header
	body   string
	echo   *echo // of [Echo]
	err    error
}

// errNoAnswer is in errors of a connection that was made.
var errNoAnswer = errors.New("no answer")

// send makes a connection for one request.
func (p *prober) send(ctx context.Context, h *target, r *request) answer {
	ctx, cancel := context.WithTimeout(ctx, wholeTime)
	defer cancel()
	if r.http2 {
		return p.send2(ctx, h, r)
	}
	conn, err := p.connect(ctx, h, r.at, "http/1.1")
	if err != nil {
		return answer{err: err}
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end) // a connection that cannot have one fails below
	}
	if _, err := io.WriteString(conn, r.write(h.authority, h.Cookie)); err != nil {
		return answer{err: errors.Join(errNoAnswer, err)}
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.verb()})
	if err != nil {
		return answer{err: errors.Join(errNoAnswer, err)}
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // of what is cut the rest is enough
	a.body = string(raw)
	a.echo = echoed(a.body)
	return a
}

// echoed is what [Echo] says in a body, nil if that is another's.
func echoed(body string) *echo {
	var got echo
	if json.Unmarshal([]byte(body), &got) != nil || got.Program != echoName {
		return nil
	}
	return &got
}

// connect dials the origin, or at by http, for one of some protocols.
func (p *prober) connect(ctx context.Context, h *target, at string, protocols ...string) (net.Conn, error) {
	address, secure := h.address, h.secure
	if at != "" {
		address, secure = at, false
	}
	if to := p.ConnectTo[address]; to != "" {
		address = to
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil || !secure {
		return conn, err
	}
	c := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.Roots, ServerName: h.name, NextProtos: protocols})
	if err := c.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake says what is wrong
		return nil, err
	}
	return c, nil
}

// gateSaid reports whether the gate has answered: sent somebody to sign in, or
// refused.
func (h *target) gateSaid(a *answer) bool {
	switch {
	case a.status == http.StatusFound || a.status == http.StatusSeeOther:
		return strings.HasPrefix(a.header.Get("Location"), h.Origin+h.Base+"/gate/start?")
	case a.status < 400:
		return false
	case strings.Contains(a.header.Get("WWW-Authenticate"), `realm="authsvc"`):
		return true
	case strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json"):
		return strings.Contains(a.body, `"urn:authsvc:problem:`)
	}
	html := strings.HasPrefix(a.header.Get("Content-Type"), "text/html")
	return html && strings.Contains(a.header.Get("Cache-Control"), "no-store") && strings.Contains(a.body, h.Base+"/")
}

// toOrigin reports whether the answer is a redirect to the origin, such as from http
// to https.
func (h *target) toOrigin(a *answer) bool {
	if a.status < 300 || a.status > 399 {
		return false
	}
	u, err := url.Parse(a.header.Get("Location"))
	return err == nil && u.Scheme+"://"+u.Host == h.Origin
}
