package mail

import (
	"errors"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/quiet"
	"authsvc/internal/text/emailaddr"

	"github.com/google/go-cmp/cmp"
)

// TestRecipient has spellings that have made mail systems deliver to another person, or
// to several. Each must give exactly one RCPT that equals the stored address with its
// domain in the form of the DNS, or no connection at all.
func TestRecipient(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	accepted := []string{
		"a@x", "ann@example.com", "ann+tag@example.com", "o'hara@example.com", "a.b-c_d@sub.example.com",
		"?@example.com", "a=b@example.com", "jörg@bücher.example", "用户@例え.jp",
		long + "@example.com", "-f@example.com",
		"a@" + strings.Repeat("b23456789.", 18) + "example",
	}
	refused := []string{
		"", "a", "@", "a@", "@x", "a@@x", "a@b@c",
		"a@x,v@y", "a@x, v@y", "a@x;v@y", "a@x v@y", "a@x\tv@y", "a,v@y",
		`"a@x"@y`, `"a b"@y`, `a"@y`, `a\@y`, `"a@x,v@y"@z`,
		"a@x\r\nBcc: v@y", "a@x\nRCPT TO:<v@y>", "a@x\r", "\na@x", "a@x\u2028v@y", "a@x\u0085",
		"a@x\x00", "a\x00@x", "a@x\x7f", "a@x\u200b", "a\u202e@x", "a\u00ad@x",
		"a\uff20x", "a@x\uff20y", "a\ufe6bx", "a@x\uff0cv@y", "a@x\uff1bv@y",
		"<a@x>", "a@x>", "A <a@x>", "a@x> SIZE=1 <v@y", "@y:a@x", "<@y:a@x>",
		"a@x (c)", "a(c)@x", "(v@y)a@x",
		"=?utf-8?q?v=40y=2C?=a@x", "=?utf-8?q?a=40x=3E=00?=@y", "a=?utf-8?q?=00?=@x",
		"a@[127.0.0.1]", "a@[IPv6:::1]", "a@127.0.0.1", "a@x.", "a@.x", "a@x..y", "a@-x", "a@x-", "a@x_y",
		".a@x", "a.@x", "a..b@x", "v%y@x", "y!v@x", "a:b@x", "a@x:25", "a@x/y", "a@x?y",
		"a@\xff", "\xffa@x", "a@x\ufffd",
		strings.Repeat("a", 65) + "@x", "a@" + strings.Repeat("b", 64), "a@" + strings.Repeat("b.", 160) + "x",
		"a@x" + strings.Repeat("(", 100_000), "a@[" + strings.Repeat("1", 256<<10) + "]",
	}
	inDNS := strings.NewReplacer("bücher.example", "xn--bcher-kva.example", "例え.jp", "xn--r8jz45g.jp")
	box := listen(t, mailbox.Options{})
	send := sender(t, "smtp://"+box.Addr(), Options{})
	for _, to := range accepted {
		m := testMessage()
		m.To = to
		if err := send(t.Context(), m); err != nil {
			t.Errorf("%q: %v", to, err)
			continue
		}
		if diff := cmp.Diff([]string{inDNS.Replace(to)}, box.Messages()[0].To); diff != "" {
			t.Errorf("recipients (-want +got):\n%s", diff)
		}
	}
	before := box.Conversations()
	for _, to := range refused {
		m := testMessage()
		m.To = to
		start := time.Now()
		if err := send(t.Context(), m); !errors.Is(err, authsvc.ErrMailRefused) {
			t.Errorf("%.40q: got %v, want a final refusal", to, err)
		}
		if d := time.Since(start); d > quiet.Limit(500*time.Millisecond) {
			t.Errorf("%.40q: took %v", to, d)
		}
	}
	if n := box.Conversations() - before; n != 0 {
		t.Errorf("%d connections for refused recipients", n)
	}
}

// TestMappedDomain checks that a domain which the DNS spells with other letters is
// refused: it would be the mailbox of another stored address.
func TestMappedDomain(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string]string{
		"ᾳ.example": "", "ᾀθήνα.example": "", "mail.ῃ.example": "",
		"αι.example": "xn--mxaq.example", "xn--mxaq.ü.example": "xn--mxaq.xn--tda.example", "ᾶ.example": "xn--ksg.example", "ꭰꭱ.example": "xn--58dc.example", "Ꭰ.example": "xn--58d.example",
		"Bücher.example": "xn--bcher-kva.example", "bu\u0308cher.example": "xn--bcher-kva.example", "straße.example": "xn--strae-oqa.example", "σίσυφος.example": "xn--kxa6ajbbmh.example",
	} {
		got, err := deliverable("info@" + domain)
		if want == "" && err == nil || want != "" && (err != nil || got != "info@"+want) {
			t.Errorf("%s: %s, %v", domain, got, err)
		}
	}
}

// FuzzRecipient checks that every accepted text is one address, also for the parser of
// RFC 5322.
func FuzzRecipient(f *testing.F) {
	for _, s := range []string{"a@x", "a@x,v@y", `"a@x"@y`, "a@x (c)", "jörg@bücher.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, to string) {
		if emailaddr.Check(to) != nil {
			return
		}
		if strings.ContainsAny(to, " \t\r\n\x00,;:<>()[]\\\"%!") || strings.Count(to, "@") != 1 {
			t.Fatalf("accepted %q", to)
		}
		want, err := deliverable(to)
		if err != nil {
			return
		}
		if addr, err := parseSender(to); err != nil || addr.Address != want || isASCII(to) && want != to {
			t.Fatalf("%q reads as %v: %v", to, addr, err)
		}
	})
}
