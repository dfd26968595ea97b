package verify

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// A rawAnswer holds the data that came back on a connection.
type rawAnswer struct {
	status []int
	text   string
	closed bool // by the other side
}

// rawExchange calls rawAnswers for one answer.
func rawExchange(t testing.TB, c net.Conn, silence time.Duration, request io.Reader) rawAnswer {
	t.Helper()
	return rawAnswers(t, c, 1, silence, request)
}

// rawAnswers sends bytes and reads until the other side closes the connection. It
// also stops once it has at least this many answers, the last one does not announce
// the end, and the other side has been silent for a time.
func rawAnswers(t testing.TB, c net.Conn, least int, silence time.Duration, request io.Reader) rawAnswer {
	t.Helper()
	defer c.Close()
	sent := make(chan struct{})
	go func() { defer close(sent); io.Copy(c, request) }() // ends with the connection
	var a rawAnswer
	var all strings.Builder
	buf := make([]byte, 32<<10)
	for {
		wait := patience
		if n, ends := rawRead(all.String(), nil); n >= least && !ends {
			wait = silence
		}
		c.SetReadDeadline(time.Now().Add(wait))
		n, err := c.Read(buf)
		all.Write(buf[:n])
		if err != nil {
			a.closed = !errors.Is(err, os.ErrDeadlineExceeded)
			break
		}
	}
	c.Close()
	<-sent
	a.text = all.String()
	rawRead(a.text, func(status int) {
		if status != http.StatusContinue {
			a.status = append(a.status, status)
		}
	})
	return a
}

// rawRead calls each with the status of every answer in a text. It returns the number
// of answers, and whether the last one announces the end of the connection.
func rawRead(text string, each func(status int)) (n int, ends bool) {
	for r := bufio.NewReader(strings.NewReader(text)); ; n++ {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return n, ends
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return n, ends
		}
		if ends = res.Close; each != nil {
			each(res.StatusCode)
		}
	}
}

// rawSend is rawExchange on a new connection.
func rawSend(t testing.TB, addr, request string) rawAnswer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return rawExchange(t, c, time.Second, strings.NewReader(request))
}

// rawMark is an address that only the smuggled second request contains. If that
// request reached the engine, the audit log shows the address.
const rawMark = "192.0.2.66"

// rawPost returns a sign-out with a wrong token, which is audited. header holds
// complete lines, without the empty line at the end.
func rawPost(host, header, body string) string {
	return "POST /api/auth/signout HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/x-www-form-urlencoded\r\n" + header + "\r\n" + body
}

func rawMarked(host string) string {
	return rawPost(host, "X-Forwarded-For: "+rawMark+"\r\nContent-Length: 11\r\n", "csrfToken=x")
}

// rawRefused checks that there is one answer with a wanted status and then the end:
// the rest of the data was not read as a request.
func rawRefused(t testing.TB, name string, a rawAnswer, want ...int) {
	t.Helper()
	ok := len(a.status) == 1
	if ok {
		ok = false
		for _, w := range want {
			ok = ok || a.status[0] == w
		}
	}
	if !ok || !a.closed {
		t.Errorf("%s: %v, closed %v, want one of %v and the end: %.300q", name, a.status, a.closed, want, a.text)
	}
}

// noTransferEncoding lists lines that only resemble the field. By its Content-Length,
// such a request is valid.
var noTransferEncoding = map[string]bool{"underscore": true, "hidden by a fold": true}

// smuggles returns requests with two possible ends and a second request inside: one
// parser takes it for the body, another for a request.
func smuggles(host string) map[string]string {
	list := map[string]string{}
	inner := rawMarked(host)
	for name, te := range map[string]string{
		"plain": "Transfer-Encoding: chunked\r\n", "tab": "Transfer-Encoding:\tchunked\r\n", "case": "tRANSFER-eNCODING: Chunked\r\n",
		"xchunked": "Transfer-Encoding: xchunked\r\n", "twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"identity after": "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "list": "Transfer-Encoding: chunked, identity\r\n",
		"list before": "Transfer-Encoding: identity, chunked\r\n", "blank before colon": "Transfer-Encoding : chunked\r\n",
		"vertical tab": "Transfer-Encoding:\x0bchunked\r\n", "quoted": "Transfer-Encoding: \"chunked\"\r\n", "after bare LF": "X: y\nTransfer-Encoding: chunked\r\n",
		"folded": "Transfer-Encoding:\r\n chunked\r\n", "hidden by a fold": "X: y\r\n Transfer-Encoding: chunked\r\n",
		"after bare CR": "X: y\rTransfer-Encoding: chunked\r\n", "NUL": "Transfer-Encoding: chunked\x00\r\n", "underscore": "Transfer_Encoding: chunked\r\n",
	} {
		list["CL.TE "+name] = rawPost(host, fmt.Sprintf("Content-Length: %d\r\n%s", len("0\r\n\r\n"+inner), te), "0\r\n\r\n"+inner)
		if noTransferEncoding[name] {
			continue
		}
		list["TE.CL "+name] = rawPost(host, fmt.Sprintf("%sContent-Length: %d\r\n", te, len(fmt.Sprintf("%x\r\n", len(inner)))),
			fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(inner), inner))
	}
	return list
}

func rawDial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
