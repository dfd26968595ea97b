package verify

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
)

// emailRecipients are addresses that split, wrap or smuggle recipients.
var emailRecipients = []string{
	"a@x.test,v@y.test", "a@x.test;v@y.test", "a@x.test v@y.test", `"a@x.test"@y.test`, `"a b"@x.test`, "a@x.test\r\nBcc: v@y.test",
	"a@x.test\nv@y.test", "a@x.test%0aBcc:v@y.test", "a＠x.test＠y.test", "a﹫x.test@y.test", "<a@x.test>", "Ada <a@x.test>", "a@x.test (c)",
	"a(c)@x.test", "=?utf-8?q?a=40x.test?=", "=?utf-8?q?a?=@x.test", "a@[127.0.0.1]", "a@[IPv6:::1]", "a@x.test.", "a@x..test", "a@.x.test", ".a@x.test", "a.@x.test",
	"a..b@x.test", "a@x", "a@localhost", "a@", "@x.test", "@", "", " ", "a", "a@x.test\x00", "\x00a@x.test", "a@x.\x00test", "a@x.test@y.test",
	"a@x.test,", ",a@x.test", "a:b@x.test", "a\\@x.test@y.test", "a@-x.test", "a@x-.test", "a@x_y.test", "a@x.test/y", "a@x.test#", "a@x.test?x",
	strings.Repeat("a", 65) + "@x.test", "a@" + strings.Repeat("x", 64) + ".test", strings.Repeat("a", 60) + "@" + strings.Repeat("x.", 120) + "test",
	"a\u200b@x.test", "a\u202e@x.test", "a\u00ad@x.test", "a\u2028@x.test", "a\u3000b@x.test", "undisclosed:a@x.test;", "a@x.test>\r\nRCPT TO:<v@y.test",
	"a@x\u3002", "a%y.test@x.test", "a!b@x.test", "a@x.test\tv@y.test", "a@x.test\x0bv@y.test", "a@x.test\u0085v@y.test", "\ufeffa@x.test", "a\xff@x.test",
}

// emailPieces are the parts of random addresses.
var emailPieces = []string{"a", "B", ".", "@", "@", "@x.test", "@y.test", "＠", "﹫", ",", ";", " ", `"`, "<", ">", "(", ")", "\r\n", "\n", "\x00", "x.test", "Bcc:", "=?utf-8?q?", "?=",
	"\u202e", "é", "e\u0301", "ſ", "\u212a", "ı", "İ", "ß", "%0a", `\`, "[", "]", ":", "!", "%", "\t", "\u200b", "\u3000", "\u3002", "+x", "-", "'", "&", "日本", "🔑", "\xff"}

func email08(t *T) {
	s := smtpfaultNew()
	given := make(chan struct{}, 1)
	w := smtpfaultWorld(t, s, func(c *authsvc.Config) { c.Events.Audit = emailGivenUp(c, given) })
	b := w.Browser()
	for _, address := range emailRecipients {
		a := w.MustRefuse(t, func() *browser.Answer { return w.Browser().Post("/api/auth/signin/email", "email", address) })
		if a.StatusCode != 400 && !strings.Contains(a.Location(), "error=EmailSignin") { // 400 if the body is not UTF-8
			t.Errorf("%q: %s", address, a.Location())
		}
	}
	accepted := 0
	mutants := t.Scale("random addresses in each mode", 300, 3000, 300_000)
	for range mutants {
		address := ""
		for range 1 + rand.IntN(7) {
			address += emailPieces[rand.IntN(len(emailPieces))]
		}
		if rand.IntN(2) == 0 { // closer to accepted addresses
			address = "q" + address + "@z.test"
		}
		if emailOne(t, w, s, b, given, address) {
			accepted++
		}
	}
	t.Figure("%d hand-picked addresses refused", len(emailRecipients))
	if accepted == 0 || accepted == mutants {
		t.Errorf("twin: %d of %d random addresses are accepted", accepted, mutants)
	}
	if !emailOne(t, w, s, b, given, "Ada+tag@Example.TEST") {
		t.Error("twin: a valid address is refused")
	}
}

// emailOne requests a link and reports whether the request was accepted. If so, the
// mail server must have received exactly one recipient, the stored one, with the domain
// in the form of the DNS (RFC 5890).
func emailOne(t *T, w *arena.World, s *smtpfaultServer, b *arena.Browser, given chan struct{}, address string) bool {
	t.Helper()
	written := len(w.Ledger.Written())
	if a := b.Post("/api/auth/signin/email", "email", address); !strings.Contains(a.Location(), "/verify-request") {
		return false
	}
	_, stored, _ := strings.Cut(strings.Join(w.Ledger.Written()[written:], "\n"), "Identifier:")
	stored, _, _ = strings.Cut(stored, " Token:")
	if strings.Count(norm.NFKC.String(stored), "@") != 1 || len(stored) > 254 || strings.ContainsFunc(stored, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		t.Errorf("%q is stored as %q", address, stored)
	}
	select {
	case m := <-s.arrived:
		local, domain, _ := strings.Cut(stored, "@")
		ascii, err := idna.Lookup.ToASCII(domain)
		if err != nil || len(m.to) != 1 || m.to[0] != local+"@"+ascii {
			t.Errorf("%q, stored as %q, is mailed to %q", address, stored, m.to)
		}
	case <-given: // the sender refuses it too
		t.Errorf("%q is accepted, but no mail is sent", address)
	case <-time.After(patience):
		t.Fatalf("%q: nothing was sent", address)
	}
	return true
}

func email15(t *T) {
	emailStores(t, func(t *T, kind stores.Kind) {
		w := t.Enter(func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
		ids := map[string]string{}
		for i, address := range []string{"kim@example.test", "sam@example.test", "strasse@example.test", "didem@example.test", "ipek@example.test",
			"caf\u00e9@example.test", "cafe@example.test", "ada@xn--bcher-kva.test", "ada@example.test", "file@example.test"} {
			u, err := w.Store.CreateUser(t.Context(), authsvc.User{ID: fmt.Sprintf("0190a000-0000-7000-8000-%012d", i), Email: address, EmailVerified: time.Now().UTC().Truncate(time.Millisecond)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			ids[address] = u.ID
		}
		b := w.Browser()
		for asked, want := range map[string]string{
			"Kim@EXAMPLE.test": "kim@example.test", " kim@example.test ": "kim@example.test", "kim＠example.test": "kim@example.test",
			"\u212aim@example.test": "kim@example.test", "\u0130pek@example.test": "ipek@example.test", "ſam@example.test": "sam@example.test", "cafe\u0301@example.test": "caf\u00e9@example.test",
			"CAFÉ@example.test": "caf\u00e9@example.test", "ﬁle@example.test": "file@example.test", "kim@example.test\u0085": "kim@example.test",
			// These addresses resemble a user's but differ.
			"stra\u00dfe@example.test": "stra\u00dfe@example.test", "STRA\u1e9eE@example.test": "stra\u00dfe@example.test", "d\u0131dem@example.test": "d\u0131dem@example.test",
			"ada@b\u00fccher.test": "ada@b\u00fccher.test", "\u0430da@example.test": "\u0430da@example.test",
			"caf\u00e8@example.test": "caf\u00e8@example.test", "cafe+x@example.test": "cafe+x@example.test", "c.afe@example.test": "c.afe@example.test",
			"o'neil@example.test": "o'neil@example.test", "a&b@example.test": "a&b@example.test",
		} {
			link := emailAsk(t, w, b, asked)
			sent := w.Mail.Sent()
			m := sent[len(sent)-1]
			if m.To != want || emailQuery(t, link).Get("email") != want || !strings.Contains(w.Ledger.Lasting(), "Identifier:"+want+" ") {
				t.Errorf("%q: mail to %q, link %s", asked, m.To, link)
			}
			c := w.Browser()
			if emailConfirm(t, c, link); c.Email() != want {
				t.Errorf("%q: signed in as %q", asked, c.Email())
			}
			who := w.Person(t, c)
			for owner, id := range ids {
				if (who == id) != (owner == want) {
					t.Errorf("%q reaches the account of %s: %v", asked, owner, who == id)
				}
			}
		}
	})
}

// email17Most limits the answer to an address that no parser should read.
const email17Most = 5 * time.Millisecond

func email17(t *T) {
	w := t.EnterOffline(nil)
	b := w.Browser()
	token := b.CSRF()
	for name, address := range map[string]string{
		"nested comments": strings.Repeat("(", 60_000) + "@x.test", "closed comments": strings.Repeat("(", 20_000) + strings.Repeat(")", 20_000) + "a@x.test",
		"domain literal": "a@[" + strings.Repeat("x", 60_000) + "]", "phrases": strings.Repeat("word ", 10_000) + "<a@x.test>", "quotes": strings.Repeat(`"\`, 15_000) + "@x.test",
		"many @": strings.Repeat("@", 60_000), "dots": strings.Repeat("a.", 30_000) + "@x.test", "labels": "a@" + strings.Repeat("x.", 30_000) + "test",
		"marks": "a" + strings.Repeat("\u0301", 9_000) + "@x.test", "expanding": strings.Repeat("\ufdfa", 6_000) + "@x.test", "256 KB": "a@[" + strings.Repeat("x", 256<<10) + "]",
		"groups": strings.Repeat("g:a@x.test;", 5_000), "encoded words": strings.Repeat("=?utf-8?q?a?= ", 4_000) + "a@x.test",
	} {
		form := with(nil, "email", address)
		form.Set("csrfToken", token)
		body := form.Encode()
		best := time.Hour
		for try := 0; try < 50 && (try < 7 || measures() && best > email17Most); try++ { // on a busy machine, one good run is enough
			began := time.Now()
			a := b.Clone().Raw("/api/auth/signin/email", "application/x-www-form-urlencoded", body)
			best = min(best, time.Since(began))
			if !arena.IsRefusal(a) {
				t.Errorf("%s: %d %s", name, a.StatusCode, a.Location())
			}
		}
		if measures() && best > email17Most {
			t.Errorf("%s takes %v", name, best)
		}
	}
	if n := w.Mail.Count(); n != 0 || !strings.Contains(b.Post("/api/auth/signin/email", "email", "a@x.test").Location(), "verify-request") {
		t.Errorf("twin: %d mails, or a valid address is refused", n)
	}
}
