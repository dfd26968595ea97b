package inbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDeliver(t *testing.T) {
	t.Parallel()
	long := "https://app.example/verify?token=" + strings.Repeat("a=b&", 60) + "end"
	for name, c := range map[string]struct {
		subject, text, html string
		want                Message
	}{
		"both parts": {"Grüße", "Öffnen Sie\r\n" + long + "\r\n", "<p>Ö <a href=\"https://b.example/?x=1&amp;y=2\">ja</a>",
			Message{Subject: "Grüße", Text: "Öffnen Sie\r\n" + long + "\r\n", HTML: "<p>Ö <a href=\"https://b.example/?x=1&amp;y=2\">ja</a>",
				Links: []string{long, "https://b.example/?x=1&y=2"}}},
		"a code":         {"Hi", "1234 5678\r\n\r\nis the code, not 12345678", "", Message{Subject: "Hi", Text: "1234 5678\r\n\r\nis the code, not 12345678", Code: "1234 5678"}},
		"text alone":     {"Hello", "no link", "", Message{Subject: "Hello", Text: "no link"}},
		"header of lies": {"Hi\r\nBcc: eve@example.com", "x", "", Message{Subject: "Hi\r\nBcc: eve@example.com", Text: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, err := Open("", 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if err := box.Deliver("Acme <a@x>", "ada@example.com", c.subject, c.text, c.html); err != nil {
				t.Fatal(err)
			}
			c.want.From, c.want.To = "Acme <a@x>", []string{"ada@example.com"}
			got := box.Messages()[0]
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Message{}, "ID", "Date", "Raw")); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, got.Raw)
			}
			if head, _, _ := strings.Cut(got.Raw, "\r\n\r\n"); strings.Contains(head, "\nBcc:") {
				t.Errorf("the subject became a header: %s", head)
			}
		})
	}
}
