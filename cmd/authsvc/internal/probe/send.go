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

// Limits of one request.
const (
	dialTime  = 3 * time.Second
	wholeTime = 10 * time.Second
	maxAnswer = 64 << 10 // bytes of a body that are read
)

// A request is sent exactly as written. net/http would correct its oddities.
type request struct {
	method, target string   // default: GET
	host           string   // default: the host of the origin
	lines          []string // header lines besides the usual ones
	cookie         bool     // sends the session, if there is one
	at             string   // an http address, host:port, instead of the origin
	http2          bool
	body           string
}

// text describes the request for people.
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

// header returns the header that the gate is asked about.
func (r *request) header() http.Header {
	h := http.Header{}
	for _, line := range r.lines {
		if name, v, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			h.Add(strings.TrimSpace(name), strings.TrimSpace(v))
		}
	}
	return h
}

// usual returns the lines that every request has, except those that r sets itself.
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

// write returns the request as it is sent.
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

// An answer is a response. If err is not nil, there was none.
type answer struct {
	status int
	header http.Header
	body   string
	echo   *echo // set if [Echo] answered
	err    error
}

// errNoAnswer marks errors after the connection was made.
var errNoAnswer = errors.New("no answer")

// send opens a connection for one request.
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
		_ = conn.SetDeadline(end) // a connection without deadlines fails below
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
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // a truncated body is enough
	a.body = string(raw)
	a.echo = echoed(a.body)
	return a
}

// echoed returns the request in an answer of [Echo], or nil for other answers.
func echoed(body string) *echo {
	var got echo
	if json.Unmarshal([]byte(body), &got) != nil || got.Program != echoName {
		return nil
	}
	return &got
}

// connect dials the origin, or at over http. It offers the protocols in the TLS
// handshake.
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
		_ = conn.Close() // the handshake error is more useful
		return nil, err
	}
	return c, nil
}

// gateSaid reports whether the gate answered: it redirected the user to sign-in, or
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

// toOrigin reports whether the answer is a redirect to the origin, such as from http to
// https.
func (h *target) toOrigin(a *answer) bool {
	if a.status < 300 || a.status > 399 {
		return false
	}
	u, err := url.Parse(a.header.Get("Location"))
	return err == nil && u.Scheme+"://"+u.Host == h.Origin
}
