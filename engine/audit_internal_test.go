package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"authsvc"
	"authsvc/internal/plainlog"
	"authsvc/internal/uuid"
)

var updateAudit = flag.Bool("update-audit", false, "write the table into docs/audit.md")

// TestAuditNames: the table of events has the names that the code uses, the
// cases of TestAuditEvents drive each, and docs/audit.md shows the table.
func TestAuditNames(t *testing.T) {
	t.Parallel()
	recording := regexp.MustCompile(`AuditEvent\{Name:|\.Name(, e\.Reason)? = |\b(audit|recordLimited|logoutAnswer)\(`)
	literal := regexp.MustCompile(`"([a-z_]+\.[a-z_]+)"`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	inCode, inTests := map[string]bool{}, map[string]bool{"service.started": true, "service.stopped": true}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			for _, m := range literal.FindAllStringSubmatch(line, -1) {
				switch {
				case (name == "audit_cases_test.go" || name == "audit_test.go") && strings.Contains(line, "Name:"):
					inTests[m[1]] = true
				case strings.HasSuffix(name, "_test.go"), strings.HasPrefix(line, "\t{\""): // the table itself
				case recording.MatchString(line):
					inCode[m[1]] = true
				}
			}
		}
	}
	inCode["sign_in.failed"], inCode["sign_in.refused"] = true, true // put together from two parts
	var table strings.Builder
	table.WriteString("| Event | Outcome | What happened |\n|---|---|---|\n")
	for _, k := range slices.Concat(auditKinds...) {
		if !inCode[k.name] {
			t.Errorf("nothing records %s", k.name)
		}
		if !inTests[k.name] {
			t.Errorf("no case of audit_cases_test.go drives %s", k.name)
		}
		delete(inCode, k.name)
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", k.name, k.outcome, k.meaning)
	}
	for name := range inCode {
		t.Errorf("%s is not in the table", name)
	}
	documented(t, table.String())
}

func documented(t *testing.T, table string) {
	t.Helper()
	const page = "../docs/audit.md"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), "<!-- events -->\n")
	_, after, closed := strings.Cut(rest, "<!-- end of events -->\n")
	want := before + "<!-- events -->\n" + table + "<!-- end of events -->\n" + after
	switch {
	case !found || !closed:
		t.Fatal(page + " has no place for the table")
	case *updateAudit:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case want != string(raw):
		t.Errorf("%s is stale; run go test ./engine -run TestAuditNames -update-audit", page)
	}
}

// An auditSink is an AuditLog that can fail, and be slow.
type auditSink struct {
	mu    sync.Mutex
	fail  bool
	wait  time.Duration
	calls int
	ids   map[string]bool
}

func (s *auditSink) PutAudit(ctx context.Context, list []authsvc.AuditRecord) error {
	if s.wait > 0 && !sleep(ctx, s.wait) {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.fail {
		return errors.New("connection refused")
	}
	for _, r := range list {
		s.ids[r.ID] = true
	}
	return nil
}

func (s *auditSink) ListAudit(context.Context, authsvc.AuditQuery) ([]authsvc.AuditRecord, error) {
	return nil, nil
}
func (s *auditSink) SweepAudit(context.Context, time.Time, int) (int, error) { return 0, nil }

func (s *auditSink) breaks(fail bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *auditSink) has() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

func auditRecords(t *auditQueue, n int) {
	for range n {
		t.add(authsvc.AuditRecord{ID: uuid.V7(), AuditEvent: authsvc.AuditEvent{Outcome: authsvc.AuditSuccess}})
	}
}

// While the store fails no request waits, and events that fit into the queue are
// not lost. Those that do not are counted; both are logged once.
func TestAuditQueueStoreFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &auditSink{fail: true, ids: map[string]bool{}}
		tr := newAuditQueue(s, slog.New(slog.NewTextHandler(&log, nil)), time.Hour)
		go tr.run()
		began := time.Now()
		auditRecords(tr, auditBatch)
		time.Sleep(time.Second) // the batch is in hand and has failed
		auditRecords(tr, maxAuditQueue+25)
		if took := time.Since(began); took != time.Second {
			t.Errorf("adding took %v", took-time.Second)
		}
		time.Sleep(10 * time.Minute)
		s.breaks(false)
		time.Sleep(10 * time.Minute)
		if got := s.has(); got != auditBatch+maxAuditQueue {
			t.Errorf("%d records are stored", got)
		}
		for line, n := range map[string]int{"could not be stored; it is tried again": 1, "do not get into the store": 1, "events=25": 1} {
			if got := strings.Count(log.String(), line); got != n {
				t.Errorf("%q is said %d times:\n%s", line, got, log.String())
			}
		}
		auditRecords(tr, 3)
		tr.end()
		<-tr.done
		if got := s.has(); got != auditBatch+maxAuditQueue+3 {
			t.Errorf("%d records are stored at the end", got)
		}
	})
}

// end stores what is queued; a store that fails then delays it once.
func TestAuditQueueEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sink *auditSink
		want int
		took time.Duration
	}{
		"works": {&auditSink{ids: map[string]bool{}}, 1000, 0},
		"fails": {&auditSink{fail: true, ids: map[string]bool{}}, 0, 0},
		"hangs": {&auditSink{wait: time.Hour, ids: map[string]bool{}}, 0, 2 * auditTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				tr := newAuditQueue(c.sink, slog.New(slog.NewTextHandler(&log, nil)), time.Hour)
				auditRecords(tr, 1000)
				go tr.run()
				synctest.Wait()
				began := time.Now()
				tr.end()
				<-tr.done
				if took := time.Since(began); took > c.took {
					t.Errorf("it took %v", took)
				}
				if got := c.sink.has(); got != c.want {
					t.Errorf("%d records are stored", got)
				}
				if logged := strings.Contains(log.String(), "events=1000"); logged != (c.want == 0) {
					t.Errorf("log:\n%s", log.String())
				}
			})
		})
	}
}

// FuzzAudit: whatever a stranger puts into what is recorded, it is one line of
// the log, in text and in JSON, and one record, with nothing in it that a
// terminal or a reader would take for more than text.
func FuzzAudit(f *testing.F) {
	for _, s := range []string{"", "Mozilla/5.0 (X11; Linux x86_64)", "a\r\nmsg=audit event=sign_in.succeeded", "\x1b[2J\x1b]0;owned\x07", "\u202etxt.exe",
		"\u2066a\u2069", `"}` + "\n" + `{"msg":"audit"`, "\x00", "\x9b31m", "\u009b31m", "\xff\xfe", "a=b c=\"d\"", "\u2028\u2029\u0085", "\U000e0041", strings.Repeat("é", 300), "%0a%s%n"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, agent, user string) {
		for _, format := range []string{"text", "json"} {
			auditOnce(t, format, agent, user)
		}
	})
}

func auditOnce(t *testing.T, format, agent, user string) {
	var b bytes.Buffer
	var h slog.Handler = slog.NewTextHandler(&b, nil)
	if format == "json" {
		h = slog.NewJSONHandler(&b, nil)
	}
	var event authsvc.AuditEvent
	s := raise(&given{log: slog.New(plainlog.Handler(h)), events: authsvc.Events{Audit: func(_ context.Context, e authsvc.AuditEvent) { event = e }}})
	s.auditor.repeats = newRepeats(true)
	rq := &request{site: s.site, ctx: t.Context(), r: httptest.NewRequest("GET", "/", nil), auditUser: user}
	rq.r.Header["User-Agent"] = []string{agent}
	rq.audit("sign_in.refused", authsvc.ErrorCode(agent), user)
	s.log.Warn("other lines too", "cause", fmt.Errorf("%s", agent), "list", []string{user}, slog.Group("g", "k", user))
	out := b.String()
	if n := strings.Count(out, "\n"); n != 2 || !strings.HasSuffix(out, "\n") {
		t.Fatalf("%d lines: %q", n, out)
	}
	if strings.Count(out, "sign_in.refused") > 1+strings.Count(agent+user, "sign_in.refused")*6 {
		t.Fatalf("more than one event: %q", out)
	}
	for _, text := range []string{strings.ReplaceAll(out, "\n", ""), event.UserAgent, event.UserID, event.Reason, string(event.Code)} {
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(text) {
			t.Fatalf("not plain: %q", text)
		}
	}
	if len(event.UserAgent) > maxAgent || len(event.UserID) > maxAuditText {
		t.Fatalf("%d and %d bytes", len(event.UserAgent), len(event.UserID))
	}
	if format == "json" {
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("no JSON: %q", line)
			}
		}
	}
}
