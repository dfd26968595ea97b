package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// protocol2 names HTTP/2 in the TLS handshake (RFC 7301).
const protocol2 = "h2"

// errNoHTTP2 is the error of an origin that speaks only HTTP/1.1.
var errNoHTTP2 = errors.New("the origin offers no HTTP/2")

// fields returns the header block of the request in HTTP/2, with names in lower case.
// It keeps fields that HTTP/2 does not allow, such as Connection.
func (r *request) fields(h *target) []byte {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	add := func(name, value string) {
		_ = enc.WriteField(hpack.HeaderField{Name: name, Value: value}) // into memory
	}
	host, scheme := h.authority, "http"
	if r.host != "" {
		host = r.host
	}
	if h.secure {
		scheme = "https"
	}
	add(":method", r.verb())
	add(":scheme", scheme)
	add(":authority", host)
	add(":path", r.target)
	for _, line := range append(r.usual(), r.lines...) {
		name, value, _ := strings.Cut(line, ":")
		add(strings.ToLower(name), strings.TrimSpace(value))
	}
	if r.cookie && h.Cookie != "" && r.host == "" {
		add("cookie", h.Cookie)
	}
	return block.Bytes()
}

// send2 sends one request over HTTP/2. An http origin gets it without negotiation
// (RFC 9113 §3.3).
func (p *prober) send2(ctx context.Context, h *target, r *request) answer {
	conn, err := p.connect(ctx, h, "", protocol2, "http/1.1") // some servers end the handshake if there is no alternative
	if err != nil {
		return answer{err: err}
	}
	defer conn.Close()
	if c, secure := conn.(*tls.Conn); secure && c.ConnectionState().NegotiatedProtocol != protocol2 {
		return answer{err: errNoHTTP2}
	}
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end) // a connection without deadlines fails below
	}
	a, spoken := exchange2(conn, r.fields(h))
	if _, secure := conn.(*tls.Conn); !secure && !spoken {
		return answer{err: errNoHTTP2}
	}
	a.echo = echoed(a.body)
	return a
}

// exchange2 sends a request and reads frames until the end of the answer. spoken
// reports whether the other side sent any frame.
func exchange2(conn net.Conn, fields []byte) (a answer, spoken bool) {
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_, err := conn.Write([]byte(http2.ClientPreface))
	err = errors.Join(err, f.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0}),
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields, EndStream: true, EndHeaders: true}))
	for err == nil {
		var frame http2.Frame
		if frame, err = f.ReadFrame(); err != nil {
			break
		}
		spoken = true
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = f.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			if status := frame.PseudoValue("status"); status != "" {
				a.status, _ = strconv.Atoi(status) // 0 if malformed
			}
			if a.header == nil || a.status < 200 {
				a.header = http.Header{}
			}
			for _, field := range frame.RegularFields() {
				a.header.Add(field.Name, field.Value)
			}
		case *http2.DataFrame:
			a.body += string(frame.Data())
		case *http2.RSTStreamFrame:
			err = fmt.Errorf("the stream was reset: %v", frame.ErrCode)
		case *http2.GoAwayFrame:
			if frame.ErrCode != http2.ErrCodeNo {
				err = fmt.Errorf("the connection was ended: %v", frame.ErrCode)
			}
		}
		if frame.Header().StreamID == 1 && frame.Header().Flags.Has(http2.FlagDataEndStream) && a.status >= 200 || len(a.body) >= maxAnswer/2 {
			return a, true
		}
	}
	if a.status < 200 { // otherwise only the rest of the body is missing
		a.err = errors.Join(errNoAnswer, err)
	}
	return a, spoken
}

// byHTTP2 returns the same attempts over HTTP/2.
func byHTTP2(list []attempt) []attempt {
	for i := range list {
		for j := range list[i].steps {
			list[i].steps[j].http2 = true
		}
	}
	return list
}

// overHTTP2 requests closed paths over HTTP/2. Some requests name one host in :authority
// and another in Host. The one in :authority counts, but a proxy may forward the other.
func overHTTP2(h *target) ([]attempt, string) {
	closed, lack := h.firstClosed()
	if lack != "" {
		return nil, lack
	}
	list := gets(h.refused, false)
	for _, text := range h.closed {
		if method, path := split(text); method != http.MethodGet {
			list = append(list, attempt{steps: []request{{method: method, target: path}}})
		}
	}
	list = append(list[:min(len(list), maxByHTTP2)], odds(closed, "Host: authsvc-probe.invalid", "Host: "+h.authority+"\nHost: authsvc-probe.invalid", "X-Forwarded-For: 127.0.0.1",
		"X-Forwarded-Host: authsvc-probe.invalid", "Connection: X-Forwarded-Uri, X-Forwarded-Host, X-Forwarded-Method", "Transfer-Encoding: chunked", "TE: trailers\nContent-Type: application/grpc")...)
	list = append(list, attempt{steps: []request{{target: closed, host: "authsvc-probe.invalid", lines: []string{"Host: " + h.authority}}}, elsewhere: true},
		attempt{steps: []request{{target: closed, host: "localhost"}}, elsewhere: true})
	for _, path := range h.paths(h.open)[:min(1, len(h.paths(h.open)))] {
		list = append(list, odds(closed, "X-Forwarded-Uri: "+path, "X-Original-URL: "+path)...)
		for _, spelled := range []string{throughs(path, closed)[0], throughs(path, closed)[1], h.Origin + closed} {
			list = append(list, attempt{steps: []request{{target: spelled}}})
		}
	}
	list[0].done = func(result string) { h.noHTTP2 = result == Skipped }
	return byHTTP2(list), ""
}

// maxByHTTP2 limits how many paths are requested over HTTP/2.
const maxByHTTP2 = 10

// headersByHTTP2 sends identity headers over HTTP/2. Proxies rewrite the names of
// headers there.
func headersByHTTP2(h *target) ([]attempt, string) {
	if h.noHTTP2 {
		return nil, errNoHTTP2.Error()
	}
	var all, under []string
	for _, name := range h.p.Identity {
		all = append(all, name+": "+h.p.mark)
		under = append(under, strings.ReplaceAll(name, "-", "_")+": "+h.p.mark)
	}
	list, lack := h.arrivals(strings.Join(all, "\n"), strings.Join(under, "\n"), strings.Join(append(all, under...), "\n"),
		"Connection: "+strings.Join(h.p.Identity, ", ")+"\n"+strings.Join(all, "\n"))
	return byHTTP2(list), lack
}

// upgrades asks a proxy to switch the connection to cleartext HTTP/2, as in RFC 7540.
// Requests on such a connection are not checked.
func upgrades(h *target) (list []attempt, lack string) {
	settings := base64.RawURLEncoding.EncodeToString([]byte{0, 3, 0, 0, 0, 100})
	lines := []string{"Connection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: " + settings, "Connection: Upgrade\nUpgrade: h2c\nHTTP2-Settings: " + settings}
	if len(h.refused) > 0 {
		list = odds(h.refused[0], lines...)
	}
	if open := h.paths(h.open); len(open) > 0 {
		list = append(list, h.handedOver(odds(open[0], lines...))...)
	}
	if h.entered != "" {
		in := h.handedOver(odds(h.entered+"?"+random(), lines[0]))
		in[0].steps[0].cookie = true
		list = append(list, in...)
	}
	if len(list) == 0 {
		return nil, "no path is closed, and none is open"
	}
	return list, ""
}

// handedOver judges attempts by whether the connection now belongs to the program.
func (h *target) handedOver(list []attempt) []attempt {
	for i := range list {
		list[i].judge = func(_ *attempt, got *answer) (string, string) {
			switch {
			case got.err != nil:
				return OK, "no answer"
			case got.status == http.StatusSwitchingProtocols:
				return Hole, "the connection was handed over: requests on it are not checked"
			}
			return OK, fmt.Sprintf("answered %d, and not handed over", got.status)
		}
	}
	return list
}
