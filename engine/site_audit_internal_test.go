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
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"authsvc"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/text/plainlog"
)

var updateAudit = flag.Bool("update-audit", false, "write the table into docs/audit.md")

// TestAuditNames: the table of events has the names that the code uses, a case of
// TestAuditEvents causes each event, and docs/audit.md shows the table.
func TestAuditNames(t *testing.T) {
	t.Parallel()
	recording := regexp.MustCompile(`AuditEvent\{Name:|\.Name(, e\.Reason)? = |\b(audit|RecordLimited|logoutAnswer)\(`)
	literal := regexp.MustCompile(`"([a-z_]+\.[a-z_]+)"`)
	files, err := filepath.Glob("*.go")
	storeys, err2 := filepath.Glob("internal/*/*.go")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	inCode, inTests := map[string]bool{}, map[string]bool{"service.started": true, "service.stopped": true}
	for _, name := range append(files, storeys...) {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			for _, m := range literal.FindAllStringSubmatch(line, -1) {
				switch {
				case (name == "site_audit_cases_test.go" || name == "site_audit_test.go") && strings.Contains(line, "Name:"):
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
	for _, k := range allEvents() {
		if !inCode[k.Name] {
			t.Errorf("nothing records %s", k.Name)
		}
		if !inTests[k.Name] {
			t.Errorf("no case of site_audit_cases_test.go drives %s", k.Name)
		}
		delete(inCode, k.Name)
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", k.Name, k.Outcome, k.Meaning)
	}
	for name := range inCode {
		t.Errorf("%s is not in the table", name)
	}
	documented(t, table.String())
}

// allEvents returns the events of all parts and of the service.
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

// FuzzAudit: untrusted input in an event makes exactly one line of the log, in text and
// in JSON, and one record. They contain nothing that a terminal or a reader would take
// for more than text.
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
	s := newStoreys(&fleet.Common{Log: slog.New(plainlog.Handler(h)), Events: authsvc.Events{Audit: func(_ context.Context, e authsvc.AuditEvent) { event = e }}})
	s.auditor.RecordEach()
	rq := &request{site: s.site, ctx: t.Context(), r: httptest.NewRequest("GET", "/", nil), auditUser: user}
	rq.r.Header["User-Agent"] = []string{agent}
	rq.audit("sign_in.refused", authsvc.ErrorCode(agent), user)
	s.common.Log.Warn("other lines too", "cause", fmt.Errorf("%s", agent), "list", []string{user}, slog.Group("g", "k", user))
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
	if len(event.UserAgent) > 200 || len(event.UserID) > 255 {
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
