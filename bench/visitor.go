package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// A visitor is a browser with one connection, as cheap as one can be.
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

// get asks for a path, and returns the answer's body, or its Location.
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

// A journey is a whole sign-in of the n-th person.
type journey func(v *visitor, n int64) error

// journeys lets visitors sign in, one person after another over each connection,
// everybody with no cookies at first. next is the number of the next person.
func journeys(j journey, conns int, next func() int64) runner {
	return func(ctx context.Context, addr string, length time.Duration) (result, error) {
		ctx, cancel := context.WithTimeout(ctx, length)
		defer cancel()
		var mu sync.Mutex
		var wg sync.WaitGroup
		var all []time.Duration
		var errs []error
		for range conns {
			wg.Go(func() {
				took, err := oneVisitor(ctx, addr, j, next)
				mu.Lock()
				defer mu.Unlock()
				all, errs = append(all, took...), append(errs, err)
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return result{}, err
		}
		return summary(all, length)
	}
}

// oneVisitor signs in until ctx ends. A sign-in that ends later does not count.
func oneVisitor(ctx context.Context, addr string, j journey, next func() int64) (took []time.Duration, err error) {
	v, err := visit(context.WithoutCancel(ctx), addr)
	if err != nil {
		return nil, err
	}
	defer v.conn.Close()
	for {
		clear(v.cookies)
		begin := time.Now()
		if err := j(v, next()); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return took, nil
		}
		took = append(took, time.Since(begin))
	}
}
