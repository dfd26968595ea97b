package verify

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"authsvc/internal/test/process"
)

// httpwireFloods sends a header to a route of the binary over many connections at
// once. It returns the statuses, and the growth of RSS in MB.
func httpwireFloods(t *T, p *process.Process, header string, times int) (map[int]int, int) {
	before := procStatus(t, p, "VmRSS")
	var mu sync.Mutex
	status := map[int]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range times {
				a := rawSend(t, p.Addr, "GET /api/auth/session HTTP/1.1\r\nHost: "+p.Addr+"\r\nConnection: close\r\n"+header+"\r\n")
				mu.Lock()
				if len(a.status) == 1 {
					status[a.status[0]]++
				} else {
					status[0]++ // closed before everything was sent
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return status, (procStatus(t, p, "VmRSS") - before) >> 10
}

func httpwire07(t *T) {
	t.require(check{needs: []need{needsProc}})
	p, _ := httpwireServe(t)
	times := t.Scale("requests on each of 8 connections, per size", 1, 2, 200)
	httpwireFloods(t, p, "", times) // warm-up
	sizes := []int{8 << 10, 30 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20}
	if theScale() == quick { // each refused connection lingers for half a second
		sizes = []int{30 << 10, 64 << 10}
	}
	for _, size := range sizes {
		for name, header := range map[string]string{
			"one":   "X-Big: " + strings.Repeat("x", size) + "\r\n",
			"many":  strings.Repeat("X-Big: "+strings.Repeat("x", 91)+"\r\n", size/100),
			"names": strings.Repeat("X-"+strings.Repeat("n", 500)+": x\r\n", size/508),
		} {
			status, grown := httpwireFloods(t, p, header, times)
			fits, refused := status[200], status[431]+status[0]
			if size <= 30<<10 && (fits == 0 || refused > 0) || size >= 64<<10 && (fits > 0 || refused == 0) {
				t.Errorf("%s, %d KB: %v", name, size>>10, status)
			}
			if size == 64<<10 && status[431] == 0 {
				t.Errorf("%s, %d KB: no client got 431", name, size>>10)
			}
			if measures() && grown > 20 {
				t.Errorf("%s, %d KB: %d MB more", name, size>>10, grown)
			}
		}
	}
	if status, _ := httpwireFloods(t, p, strings.Repeat("X: y\r\n", 10_000), 1); status[200] > 0 {
		t.Errorf("10 000 headers: %v", status)
	}
	t.Figure("RSS %d MB at the end", procStatus(t, p, "VmRSS")>>10)
}

// httpwire08 sends a hundred thousand cookies to the binary, and to the handler in a
// server that accepts them.
func httpwire08(t *T) {
	t.require(check{needs: []need{needsProc}})
	p, _ := httpwireServe(t)
	status, grown := httpwireFloods(t, p, "Cookie: "+strings.Repeat("a=;", 100_000)+"\r\n", t.Scale("floods on each of 8 connections", 1, 4, 4))
	if status[200] > 0 || status[431] == 0 || measures() && grown > 10 {
		t.Errorf("on the wire: %v, %d MB more", status, grown)
	}
	w := t.Enter(nil)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	own := fmt.Sprintf("%s=%s", w.SessionCookie(), b.Cookies[w.SessionCookie()])
	for name, line := range map[string]string{
		"empty": strings.Repeat("a=;", 100_000), "different": strings.ReplaceAll(distinct(100_000), "&", ";"), "session": strings.Repeat(w.SessionCookie()+"=x;", 10_000),
		"chunks": strings.Repeat(w.SessionCookie()+".0=x;", 10_000), "attempts": strings.ReplaceAll(strings.ReplaceAll(distinct(20_000), "&", ";"), "a", "__Host-authsvc.tx.a"),
	} {
		for _, line := range []string{line, line + own, own + ";" + line} {
			r := httptest.NewRequest(http.MethodGet, b.Origin+"/api/auth/session", nil)
			r.Header.Set("Cookie", line)
			began := time.Now()
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, r)
			if d := time.Since(began); rec.Code >= 500 && rec.Code != 503 || d > within(500*time.Millisecond) {
				t.Errorf("%s: %d after %v", name, rec.Code, d)
			}
			if set := len(rec.Result().Cookies()); set > 100 {
				t.Errorf("%s: %d cookies are set in return", name, set)
			}
		}
		if !measures() {
			continue
		}
		r := httptest.NewRequest(http.MethodGet, b.Origin+"/api/auth/session", nil)
		r.Header.Set("Cookie", line)
		if bytes := rawAllocated(func() { w.ServeHTTP(httptest.NewRecorder(), r) }); bytes > 10<<20 {
			t.Errorf("%s: %d bytes are allocated", name, bytes)
		} else {
			t.Figure("%s: %d KB", name, bytes>>10)
		}
	}
	if b.Email() != "ada@example.com" {
		t.Error("twin: the jar alone does not sign in")
	}
}
