package main

import (
	"bufio"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	for line, want := range map[string]string{
		"-fast":                   "-fast",
		"session":                 `"session" is not a flag`,
		"-only (":                 "-only",
		"-rounds 0":               "-rounds",
		"-time 1500ms":            "whole number of seconds",
		"-check -growth":          "-check",
		"-from a.json -out b":     "-from",
		"-old HEAD":               "-old",
		"-users 3":                "-users",
		"-rounds 3 -time 2s":      "",
		"-all -plots d -page p":   "",
		"-check -only csrf":       "",
		"-check -old HEAD":        "",
		"-from a.json -page p.md": "",
	} {
		_, err := parseOptions(strings.Fields(line), io.Discard)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	var help strings.Builder
	if _, err := parseOptions([]string{"-help"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-growth") {
		t.Errorf("-help: %v, %s", err, help.String())
	}
}

func TestParseWrk(t *testing.T) {
	r, err := parseWrk(`Running 1s test @ http://127.0.0.1:1/
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   424.51us  301.77us   4.85ms   94.40%
  Latency Distribution
     50%  443.00us
     75%  600.00us
     90%    1.01ms
     99%    2.37ms
Requests/sec:  34070.25
`)
	want := result{Rate: 34070.25, P50: 443 * time.Microsecond, P90: 1010 * time.Microsecond, P99: 2370 * time.Microsecond, Max: 4850 * time.Microsecond}
	if err != nil || r != want {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{"", "Non-2xx or 3xx responses: 3\nRequests/sec: 1", "Socket errors: connect 1, read 0\nRequests/sec: 1"} {
		if _, err := parseWrk(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestLoad(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		time.Sleep(2 * time.Millisecond)
		io.WriteString(w, "{}")
	}))
	defer s.Close()
	l := load{path: "/", conns: 8}
	r, err := l.constant(t.Context(), s.Listener.Addr().String(), 200, time.Second)
	if err != nil || r.Rate < 199 || r.Rate > 201 || r.P50 < 2*time.Millisecond {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = l.constant(t.Context(), s.Listener.Addr().String(), 0, time.Second); err != nil || r.Rate <= 0 {
		t.Errorf("as fast as possible: %+v, %v", r, err)
	}
	asked.Store(0)
	if err := l.times(t.Context(), s.Listener.Addr().String(), 100); err != nil || asked.Load() != 100 {
		t.Errorf("%d requests, not 100, %v", asked.Load(), err)
	}
	bad := httptest.NewServer(http.NotFoundHandler())
	defer bad.Close()
	if _, err := l.constant(t.Context(), bad.Listener.Addr().String(), 100, time.Second); err == nil {
		t.Error("404 counts as an answer")
	}
}

// few returns a comparison with a ratio of 0.9.
func few() *comparison {
	c := &comparison{Name: "session, SQLite", Idle: [2]float64{25, 10}}
	for _, rate := range []float64{80, 90, 95} {
		c.Service = append(c.Service, sample{result: result{Rate: rate, P50: time.Millisecond}, RSS: 29})
		c.Floor = append(c.Floor, sample{result: result{Rate: 100}})
	}
	c.Starts = [2][]time.Duration{{18e6}, {10e6}}
	return c
}

func TestRatio(t *testing.T) {
	c := few()
	if median, low, high := c.Ratio(); median != 0.9 || low != 0.8 || high != 0.95 {
		t.Errorf("ratio %v, %v to %v", median, low, high)
	}
	c.Service[1].Others, c.Service[1].CPU, c.Floor[1].CPU = 0.5, 100, 85
	if median, _, _ := c.Ratio(); median != 0.85 {
		t.Errorf("ratio %v with a round that was disturbed", median)
	}
}

// onePass returns a pass in which the new binary takes times as long as the earlier
// one, and twice as long as the floor.
func onePass(times float64) *pass {
	p := &pass{Idle: [3]float64{1, 5, 5}, After: [3]float64{2, 9, 9}, Start: [3]time.Duration{4e6, 10e6, 11e6}}
	for _, noise := range []float64{0.5, 1, 3} {
		p.CPU[theFloor] = append(p.CPU[theFloor], 50*times*noise)
		p.CPU[theOld] = append(p.CPU[theOld], 100*noise)
		p.CPU[theNew] = append(p.CPU[theNew], 100*times*noise)
	}
	return p
}

// TestCheck checks that a promise is broken only if three of three passes exceed a
// limit.
func TestCheck(t *testing.T) {
	c := &check{Name: "session, jwt", Passes: []*pass{onePass(1.2), onePass(1.3)}, promise: promise{2.5, 6, 10}}
	over := c.exceeded()
	if len(over) != 1 || over[0] != (figure{"new/old", 1.2, mostOfOld}) || c.failed() {
		t.Errorf("%+v, %v", over, c.failed())
	}
	if c.Passes = append(c.Passes, onePass(1.25)); !c.failed() {
		t.Error("three passes of three are over the limit")
	}
	var text strings.Builder
	(&results{Checks: []*check{c}}).summarize(&text)
	for _, want := range []string{`summary: {"case":"session, jwt","passed":false,"passes":3,`, `"new/old":1.2`, "\nfigure: new/old worst 1.20 (session, jwt), 1 of 1 cases over a limit\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s does not have %s", text.String(), want)
		}
	}
	c.Passes[1] = onePass(1.1)
	if c.failed() {
		t.Errorf("%+v", c.exceeded())
	}
	for name, p := range map[string]promise{"new/floor": {1.9, 6, 10}, "MiB idle": {2.5, 4, 10}, "MiB after load": {2.5, 6, 8}} {
		c := &check{Passes: c.Passes, promise: p}
		if over := c.exceeded(); len(over) != 1 || over[0].name != name {
			t.Errorf("%s: %+v", name, over)
		}
	}
	c.Passes[0].CPU[theOld], c.Passes[0].Start[theOld] = nil, 0
	c.Passes = c.Passes[:1]
	if list := c.figures(); len(list) != 3 {
		t.Errorf("without the binary before: %+v", list)
	}
	c.print(&text) // a pass without it
	if strings.Contains(text.String(), "NaN") {
		t.Error(text.String())
	}
}

// TestPage checks that raw results produce the tables and plots again.
func TestPage(t *testing.T) {
	points := []loadPoint{{Share: 0.1, result: result{P50: 1e5, P99: 2e5}}, {Share: servedShare, result: result{P50: 1e5, P99: 2e5}}}
	r := &results{
		Comparisons: []*comparison{few()},
		Latency:     []*curve{{Name: "SQLite", Saturation: 90, Points: points}},
		Space:       []*space{{Store: onSQLite, User: 1000, Session: 500}},
		Growth:      []*growth{{Name: "sessions, SQLite", X: "sessions", Points: []growthPoint{{X: 1000, sample: sample{result: result{Rate: 9}}}, {X: 5e6, sample: sample{result: result{Rate: 8}}}}}},
	}
	dir := t.TempDir()
	if err := r.draw(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{throughputFile, growthFile, latencyFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), "SQLite") {
			t.Errorf("%s: %v", name, err)
		}
		if err := xml.Unmarshal(text, new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	page := filepath.Join(dir, "page.md")
	var empty strings.Builder
	for _, name := range []string{"promises", "machine", "comparisons", "crowd", "costs", "latency", "growth", "space", "people", "peers"} {
		empty.WriteString("before\n<!-- " + name + " -->\nold\n<!-- /" + name + " -->\nafter\n")
	}
	if err := os.WriteFile(page, []byte(empty.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.writePage(page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "**0.90**") || !strings.Contains(string(text), "5M sessions") || strings.Count(string(text), "old") != 3 {
		t.Errorf("%v\n%s", err, text) // the crowd, the peers and the input of peopleTable were not measured
	}
	if _, err := replacePart("no markers", "growth", ""); err == nil {
		t.Error("a page without a marker is accepted")
	}
}

func TestVisitor(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == csrfPath:
			http.SetCookie(w, &http.Cookie{Name: "csrf", Value: "1"})
			io.WriteString(w, `{"csrfToken":"2"}`)
		case r.Method == http.MethodPost && r.PostFormValue("csrfToken") == "2" && r.Header.Get("Cookie") == "csrf=1":
			io.WriteString(w, `{"url":"/"}`)
		case strings.HasPrefix(r.URL.Path, "/api/auth/callback/"):
			http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: r.FormValue("email")})
			http.Redirect(w, r, "/", http.StatusFound)
		case r.URL.Path == sessionPath:
			c, _ := r.Cookie(sessionCookie)
			io.WriteString(w, c.Value)
		default:
			http.Error(w, "", http.StatusForbidden)
		}
	}))
	defer s.Close()
	people := journeys{func(v *visitor, n int64) error {
		address := personAddress(strconv.FormatInt(n, 10))
		if _, err := begin(v, "email", url.Values{"email": {address}}); err != nil {
			return err
		}
		return arrive(v, "/api/auth/callback/email?email="+url.QueryEscape(address), address)
	}, 2}
	if r, err := people.run(t.Context(), s.Listener.Addr().String(), time.Second); err != nil || r.Rate <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	first := persons.Load()
	if err := people.times(t.Context(), s.Listener.Addr().String(), 7); err != nil || persons.Load() != first+7 {
		t.Errorf("%d sign-ins, not 7, %v", persons.Load()-first, err)
	}
	wrong := journeys{func(v *visitor, _ int64) error { _, err := v.post("/api/auth/signin/email", nil); return err }, 2}
	if _, err := wrong.run(t.Context(), s.Listener.Addr().String(), time.Second); err == nil {
		t.Error("403 counts as a sign-in")
	}
	if err := wrong.times(t.Context(), s.Listener.Addr().String(), 7); err == nil {
		t.Error("403 counts as a sign-in")
	}
}

func TestReadMail(t *testing.T) {
	text := "Subject: x\r\n\r\nOpen http://127.0.0.1:1/api/auth/callback/email?token=3Dabc=\r\ndef&email=3Da now\r\n.\r\n"
	link, err := readMail(bufio.NewReader(strings.NewReader(text)))
	if err != nil || link != "http://127.0.0.1:1/api/auth/callback/email?token=abcdef&email=a" {
		t.Errorf("%q, %v", link, err)
	}
}

func TestPeopleTable(t *testing.T) {
	r := &results{Space: []*space{{Store: onSQLite, User: 1000, Session: 500}}}
	for _, name := range []string{"session, jwt", "session, PostgreSQL", "sign-in by OpenID Connect, PostgreSQL"} {
		r.Comparisons = append(r.Comparisons, &comparison{Name: name, Service: []sample{{result: result{Rate: 1000}}}})
	}
	if got, want := r.peopleTable(), "| 1M | 1667 | 2.38 | 2.38 | 1.93 | < 0.01 | 1.86 GiB |\n"; !strings.Contains(got, want) {
		t.Errorf("%s has no line %s", got, want)
	}
}

// TestPublished checks that the page matches the raw results beside it, and that
// neither contains a path of the measuring machine.
func TestPublished(t *testing.T) {
	const raw, page = "../docs/performance.json", "../docs/performance.md"
	all, err := readResults(raw)
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(again, is, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := all.writePage(again); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(again)
	if err != nil || string(made) != string(is) {
		t.Errorf("%s is not what %s makes: %v; run bench -from it", page, raw, err)
	}
	text, err := os.ReadFile(raw)
	for _, place := range []string{"/home/", "/root/", "/tmp/", "/work/"} {
		if err != nil || strings.Contains(string(text)+string(is), place) {
			t.Errorf("%s or %s has %s, %v", raw, page, place, err)
		}
	}
}

// TestLeftOut checks that the published reason for an omitted part is one line
// without this module's path. Any other error must end the run.
func TestLeftOut(t *testing.T) {
	b := &bench{module: "/somewhere/bench"}
	if err := b.leftOut("a peer", errLeftOut("npm ci in /somewhere/bench/peers: exit status 1\nand 99 lines")); err != nil {
		t.Error(err)
	}
	if want := "a peer: left out: npm ci in bench/peers: exit status 1"; len(b.results.LeftOut) != 1 || b.results.LeftOut[0] != want {
		t.Errorf("got %q, want %q", b.results.LeftOut, want)
	}
	broken := errors.New("broken")
	if err := b.leftOut("a peer", broken); !errors.Is(err, broken) || len(b.results.LeftOut) != 1 {
		t.Errorf("got %v", err)
	}
}
