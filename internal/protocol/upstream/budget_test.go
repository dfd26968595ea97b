package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBudget checks that a client has a quarter of the room, and that the slowest of
// its requests, or of all, makes room for a new one. Requests that have just begun are
// not ended.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(16)
		ended := map[string]int{}
		in := func(client string, bytes int64) *passing {
			p := b.enter(client, func() { ended[fmt.Sprint(client, bytes)]++ })
			if p != nil {
				p.bytes.Add(bytes)
			}
			return p
		}
		for i := range 4 {
			if in("a", int64(100+i)) == nil {
				t.Fatalf("no room for request %d", i)
			}
		}
		if in("a", 0) != nil {
			t.Error("a client has more than a quarter")
		}
		time.Sleep(grace)
		last := in("a", 500)
		if last == nil || len(ended) != 1 || ended["a100"] != 1 {
			t.Errorf("the slowest of the client made no room: %v", ended)
		}
		for _, client := range []string{"b", "c", "d"} {
			for i := range 4 {
				if in(client, int64(1000*i+1)) == nil {
					t.Fatalf("no room for %s %d", client, i)
				}
			}
		}
		if in("e", 7) == nil || ended["a101"] != 1 || len(ended) != 2 {
			t.Errorf("of those who have most, the slowest that is older made no room: %v", ended)
		}
		time.Sleep(grace)
		if in("b", 8) == nil || ended["b1"] != 1 || len(ended) != 3 {
			t.Errorf("who has most ended another one's: %v", ended)
		}
		if in("e", 8) == nil || ended["a"] != 0 || len(ended) != 4 {
			t.Errorf("there was no room: %v", ended)
		}
		for name := range ended {
			if strings.HasPrefix(name, "e") || name == "a102" {
				t.Errorf("%s ended, and others have more", name)
			}
		}
		b.leave(last)
		b.leave(last)
		if n := len(b.open); n != 15 || b.of["a"] != 2 || b.of["e"] != 2 {
			t.Errorf("%d are open, %v", n, b.of)
		}
	})
}

// TestStopsReading checks that a client that was fast and then stops reading is ended
// within minutes, or at once if others need the room.
func TestStopsReading(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	program := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		w.Header().Set("Content-Length", fmt.Sprint(size))
		io.WriteString(w, strings.Repeat("x", size)) //nolint:errcheck // the client shows it
	})
	for name, c := range map[string]struct {
		pause  time.Duration
		others int // that come in the pause
	}{"for minutes": {5 * time.Minute, 0}, "while others need the room": {10 * time.Second, 25}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				front, stop := between(program, asItIs)
				defer stop()
				ask := func() (net.Conn, *http.Response) {
					conn, err := front.dial(t.Context(), "", "")
					if err != nil {
						t.Fatal(err)
					}
					io.WriteString(conn, "GET / HTTP/1.1\r\nHost: app.example\r\n\r\n") //nolint:errcheck // the answer shows it
					answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
					if err != nil {
						t.Fatal(err)
					}
					if n, err := io.CopyN(io.Discard, answer.Body, size/2); err != nil {
						t.Fatalf("twin: %d bytes at once, %v", n, err)
					}
					return conn, answer
				}
				first, answer := ask()
				defer first.Close()
				time.Sleep(c.pause)
				for range c.others { // a quarter of 100
					conn, _ := ask()
					defer conn.Close()
				}
				if n, err := io.Copy(io.Discard, answer.Body); err == nil || n > 64<<10 {
					t.Errorf("after %v without reading %d more bytes came, %v", c.pause, n, err)
				}
			})
		})
	}
}

// TestSlowClients checks clients that send or receive at a given rate.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	const size = 64 << 10
	program := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return
		}
		if r.Method == http.MethodPost {
			fmt.Fprintf(w, "%d bytes", n)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(size))
		io.WriteString(w, strings.Repeat("x", size)) //nolint:errcheck // the client shows it
	})
	for name, c := range map[string]struct {
		method string
		every  time.Duration // a piece of 100 bytes goes
		passes bool
	}{
		"sends a piece a minute":  {"POST", time.Minute, false},
		"sends a piece in 2 s":    {"POST", 2 * time.Second, false},
		"sends three a second":    {"POST", time.Second / 3, true},
		"takes a piece a minute":  {"GET", time.Minute, false},
		"takes a piece in 2 s":    {"GET", 2 * time.Second, false},
		"takes three in a second": {"GET", time.Second / 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				front, stop := between(program, asItIs)
				defer stop()
				conn, err := front.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				begun := time.Now()
				body, err := exchange(conn, c.method, size, c.every)
				took := time.Since(begun)
				want := strings.Repeat("x", size)
				if c.method == http.MethodPost {
					want = fmt.Sprintf("%d bytes", size)
				}
				switch {
				case c.passes && (err != nil || body != want):
					t.Errorf("after %v: %d bytes, %v", took, len(body), err)
				case !c.passes && err == nil:
					t.Errorf("it took %v, and passed", took)
				case !c.passes && took > 2*time.Minute+size*time.Second/minRate:
					t.Errorf("it was ended after %v", took)
				}
			})
		})
	}
}

var errEnded = errors.New("the connection was ended")

// exchange sends a body, or receives one, in pieces of 100 bytes.
func exchange(conn net.Conn, method string, size int, every time.Duration) (string, error) {
	in := bufio.NewReaderSize(&paced{conn, method == http.MethodGet, every}, 100)
	if method == http.MethodGet {
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: app.example\r\n\r\n"); err != nil {
			return "", err
		}
	} else {
		head := fmt.Sprintf("POST / HTTP/1.1\r\nHost: app.example\r\nContent-Length: %d\r\n\r\n", size)
		if _, err := io.WriteString(conn, head); err != nil {
			return "", err
		}
		for left := size; left > 0; left -= 100 {
			time.Sleep(every)
			if _, err := io.WriteString(conn, strings.Repeat("y", min(100, left))); err != nil {
				return "", errEnded
			}
		}
	}
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errEnded
	}
	return string(body), err
}

// A paced reader reads at most 100 bytes at a time, slowly.
type paced struct {
	io.Reader
	slow  bool
	every time.Duration
}

func (p *paced) Read(b []byte) (int, error) {
	if p.slow {
		time.Sleep(p.every)
		b = b[:min(100, len(b))]
	}
	return p.Reader.Read(b)
}
