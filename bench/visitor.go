package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A visitor is a minimal browser with one connection.
type visitor struct {
	addr    string
	conn    net.Conn
	in      *bufio.Reader
	cookies map[string]string
}

func visit(ctx context.Context, addr string) (*visitor, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &visitor{addr: addr, conn: conn, in: bufio.NewReader(conn), cookies: map[string]string{}}, nil
}

// get requests a path and returns the answer's body or Location.
func (v *visitor) get(path string) (string, error) { return v.ask("GET " + path + " HTTP/1.1\r\n") }

func (v *visitor) post(path string, form url.Values) (string, error) {
	body := form.Encode()
	return v.ask(fmt.Sprintf("POST %s HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n", path, len(body)), body)
}

func (v *visitor) ask(head string, body ...string) (string, error) {
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "Host: %s\r\nOrigin: http://%s\r\n", v.addr, v.addr)
	for name, value := range v.cookies {
		separator := "; "
		if !strings.Contains(b.String(), "\r\nCookie: ") {
			separator = "Cookie: "
		}
		b.WriteString(separator + name + "=" + value)
	}
	if len(v.cookies) > 0 {
		b.WriteString("\r\n")
	}
	b.WriteString("\r\n" + strings.Join(body, ""))
	if err := v.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(v.conn, b.String()); err != nil {
		return "", err
	}
	res, err := http.ReadResponse(v.in, nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	for _, c := range res.Cookies() {
		if v.cookies[c.Name] = c.Value; c.MaxAge < 0 || c.Value == "" {
			delete(v.cookies, c.Name)
		}
	}
	switch {
	case res.StatusCode == http.StatusFound:
		return res.Header.Get("Location"), nil
	case res.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s answers %s: %.200s", strings.TrimSpace(head), res.Status, text)
	}
	return string(text), nil
}

// A journey is the whole sign-in of person n.
type journey func(v *visitor, n int64) error

// journeys are visitors who sign in. Over each connection, one person follows
// another; each starts without cookies.
type journeys struct {
	journey
	conns int
}

func (j journeys) run(ctx context.Context, addr string, length time.Duration) (result, error) {
	took, err := j.together(ctx, addr, time.Now().Add(length), math.MaxInt64)
	if err != nil {
		return result{}, err
	}
	return summary(took, length)
}

func (j journeys) times(ctx context.Context, addr string, n int) error {
	took, err := j.together(ctx, addr, time.Now().Add(longest), int64(n))
	if err == nil && len(took) < n {
		err = errTooSlow
	}
	return err
}

// together signs in n times or until the time is over. It does not count sign-ins
// that end later.
func (j journeys) together(ctx context.Context, addr string, until time.Time, n int64) (all []time.Duration, err error) {
	var begun atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range j.conns {
		wg.Go(func() {
			took, e := j.one(ctx, addr, until, func() bool { return begun.Add(1) <= n })
			mu.Lock()
			defer mu.Unlock()
			all, err = append(all, took...), errors.Join(err, e)
		})
	}
	wg.Wait()
	return all, err
}

// one runs one visitor.
func (j journeys) one(ctx context.Context, addr string, until time.Time, more func() bool) (took []time.Duration, err error) {
	v, err := visit(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer v.conn.Close()
	for more() {
		clear(v.cookies)
		begin := time.Now()
		if err := j.journey(v, nextPerson()); err != nil {
			return nil, err
		}
		if ctx.Err() != nil || time.Now().After(until) {
			break
		}
		took = append(took, time.Since(begin))
	}
	return took, ctx.Err()
}
