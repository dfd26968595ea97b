package verify

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// redirectWire serves a world with net/http. The returned function sends it literal
// bytes, each time on a new connection.
func redirectWire(t *T, w *arena.World) func(raw string) *browser.Answer {
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	return func(raw string) *browser.Answer {
		t.Helper()
		return redirectDial(t, server.Listener.Addr().String(), raw)
	}
}

// redirectDial sends bytes to an address. An early answer counts, even if the
// connection breaks before its end. No answer is a failure.
func redirectDial(t *T, addr, raw string) *browser.Answer {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	go io.WriteString(conn, raw) //nolint:errcheck // the server may have hung up
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.60q: %v", raw, err)
	}
	if res.StatusCode == http.StatusRequestHeaderFieldsTooLarge {
		return &browser.Answer{Response: res} // net/http keeps the connection open for the rest of the request
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	return &browser.Answer{Response: res, Text: string(body)}
}

// redirectPost returns the bytes of a form with the jar's cookies. more holds header
// lines with their line ends; host is the value of Host, "" for no such line.
func redirectPost(b *arena.Browser, target, host, more string, fields url.Values) string {
	return redirectHead("POST", b, target, host, more+
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: "+strconv.Itoa(len(fields.Encode()))+"\r\n") + fields.Encode()
}

// redirectHead returns the head of a request with the jar's cookies.
func redirectHead(method string, b *arena.Browser, target, host, more string) string {
	var s strings.Builder
	s.WriteString(method + " " + target + " HTTP/1.1\r\n")
	if host != "" {
		s.WriteString("Host: " + host + "\r\n")
	}
	s.WriteString("Connection: close\r\n" + more)
	var pairs []string
	for name, v := range b.Cookies {
		pairs = append(pairs, name+"="+v)
	}
	if len(pairs) > 0 {
		s.WriteString("Cookie: " + strings.Join(pairs, "; ") + "\r\n")
	}
	return s.String() + "\r\n"
}
