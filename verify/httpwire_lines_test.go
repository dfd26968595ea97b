package verify

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// httpwire02 sends lengths that parsers read differently, each followed by a second
// request on the same connection.
func httpwire02(t *T) {
	p, _ := httpwireServe(t)
	next := rawMarked(p.Addr)
	for _, v := range []string{"11\r\nContent-Length: 10", "10\r\nContent-Length: 11", "+11", "-1", "0x0b", "0xb", "11,11", "11, 11", "1 1", "", " ", "\x0b11", "11\x00",
		"011x", "1e1", "11;", "99999999999999999999", "18446744073709551627", "1" + strings.Repeat("0", 400)} {
		t.Run(fmt.Sprintf("%.30q", v), func(t *T) {
			t.Parallel()
			a := rawSend(t, p.Addr, rawPost(p.Addr, "Content-Length: "+v+"\r\n", "csrfToken=x"+next))
			rawRefused(t, v, a, 400)
		})
	}
	t.Run("the largest number", func(t *T) {
		t.Parallel()
		rawRefused(t, "huge", rawSend(t, p.Addr, rawPost(p.Addr, "Content-Length: 9223372036854775807\r\n", "csrfToken=x"+next)), 413)
	})
	t.Cleanup(func() { lineTwin(t, p.Addr, p.Logs.String) })
	// The same length twice is one length (RFC 9110 §8.6), for every parser.
	t.Run("the same twice", func(t *T) {
		a := rawSend(t, p.Addr, rawPost(p.Addr, "Content-Length: 11\r\nContent-Length: 11\r\n", "csrfToken=x"))
		if len(a.status) != 1 || a.status[0] != 302 && a.status[0] != 400 {
			t.Errorf("%v %q", a.status, a.text)
		}
	})
}

// lineTwin checks that none of the second requests was read, and that one is read if
// the first request is valid.
func lineTwin(t testing.TB, addr string, logs func() string) {
	t.Helper()
	if strings.Contains(logs(), "client="+rawMark) {
		t.Errorf("a second request reached the engine")
	}
	a := rawAnswers(t, rawDial(t, addr), 2, time.Second, strings.NewReader(rawPost(addr, "Content-Length: 11\r\n", "csrfToken=x")+rawMarked(addr)))
	if len(a.status) != 2 || a.closed {
		t.Errorf("twin: two requests in order: %v, closed %v", a.status, a.closed)
	}
	for deadline := time.Now().Add(patience); !strings.Contains(logs(), "client="+rawMark); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("twin: the mark of a request that arrived is not in the log")
		}
	}
}

func httpwire03(t *T) {
	p, _ := httpwireServe(t)
	next := rawMarked(p.Addr)
	t.Cleanup(func() { lineTwin(t, p.Addr, p.Logs.String) })
	for name, line := range map[string]string{
		"blank before colon": "X : a\r\n", "blank in a name": "X Y: a\r\n", "no colon": "nocolon\r\n", "no name": ": a\r\n", "NUL in a value": "X: a\x00b\r\n",
		"NUL in a name": "X\x00: a\r\n", "control character": "X: a\x01b\r\n", "bare CR": "X: a\rb\r\n", "first line folded": " X: a\r\n", "two hosts": "Host: evil.test\r\n",
		"length folded": "Content-Length: 1\r\n 1\r\n", "not ASCII": "X\u00e9: a\r\n",
	} {
		t.Run(name, func(t *T) {
			t.Parallel()
			first := "POST /api/auth/signout HTTP/1.1\r\n" + line + "Host: " + p.Addr + "\r\nContent-Length: 11\r\n\r\n"
			if name == "length folded" {
				first = strings.Replace(first, "Content-Length: 11\r\n\r\n", "\r\n", 1)
			}
			rawRefused(t, name, rawSend(t, p.Addr, first+"csrfToken=x"+next), 400)
		})
	}
	for name, body := range map[string]string{
		"bare LF after the size": "b\ncsrfToken=x\r\n0\r\n\r\n", "bare LF after the data": "b\r\ncsrfToken=x\n0\r\n\r\n", "bare LF in an extension": "b;x\ncsrfToken=x\r\n0\r\n\r\n",
		"sign": "+b\r\ncsrfToken=x\r\n0\r\n\r\n", "minus": "-b\r\ncsrfToken=x\r\n0\r\n\r\n", "prefix": "0xb\r\ncsrfToken=x\r\n0\r\n\r\n", "overflow": "1000000000000000b\r\n\ncsrfToken=x\r\n0\r\n\r\n",
		"17 digits": "0000000000000000b\r\ncsrfToken=x\r\n0\r\n\r\n", "too short": "b\r\ncsrfToken=xZZ\r\n0\r\n\r\n", "no size": "\r\n", "bad trailer": "b\r\ncsrfToken=x\r\n0\r\nbad\r\n\r\n",
	} {
		t.Run("chunk "+name, func(t *T) {
			t.Parallel()
			rawRefused(t, name, rawSend(t, p.Addr, rawPost(p.Addr, "Transfer-Encoding: chunked\r\n", body+next)), 400)
		})
	}
	// A fold counts as a space (RFC 9112 §5.2), so it cannot start a field.
	t.Run("a fold hides no field", func(t *T) {
		t.Parallel()
		a := rawSend(t, p.Addr, rawPost(p.Addr, "X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 11\r\n", "csrfToken=x"))
		if len(a.status) != 1 || a.status[0] != 400 && a.status[0] != 302 {
			t.Errorf("%v %q", a.status, a.text)
		}
	})
	t.Run("twin: chunks in order, a trailer is not a field", func(t *T) {
		t.Parallel()
		a := rawSend(t, p.Addr, rawPost(p.Addr, "Transfer-Encoding: chunked\r\n", "b;ext=1\r\ncsrfToken=x\r\n0\r\nX-Forwarded-For: "+rawMark+"\r\n\r\n")+next)
		rawRefused(t, "chunked", a, 302)
	})
}

// httpwire04 sends one byte of data and 64 KB of extension in each chunk
// (CVE-2023-39326). Reading must end long before all of it was sent.
func httpwire04(t *T) {
	p, _ := httpwireServe(t)
	chunks := t.Scale("chunks", 200, 10_000, 10_000)
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	waste := &counted{r: repeat("1;"+strings.Repeat("e", 64<<10)+"\r\na\r\n", chunks)}
	a := rawExchange(t, c, patience, &joined{rawPost(p.Addr, "Transfer-Encoding: chunked\r\n", ""), waste})
	if len(a.status) > 1 || len(a.status) == 1 && a.status[0] != 400 || !a.closed {
		t.Errorf("%v, closed %v", a.status, a.closed)
	}
	if read := waste.n; read > 8<<20 {
		t.Errorf("%d bytes were taken", read)
	}
	t.Figure("cut after %d KB", waste.n>>10)
	if a := rawSend(t, p.Addr, rawPost(p.Addr, "Transfer-Encoding: chunked\r\n", "b;"+strings.Repeat("e", 100)+"\r\ncsrfToken=x\r\n0\r\n\r\n")); len(a.status) != 1 || a.status[0] != 302 {
		t.Errorf("twin: a short extension: %v", a.status)
	}
}
