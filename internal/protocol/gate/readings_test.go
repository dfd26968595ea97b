package gate

import (
	"math/rand/v2"
	"path"
	"strings"
	"testing"
)

// readers holds the ways in which servers process a path before they look it up.
var readers = map[string]func(string) string{
	"keeps the path":         func(s string) string { return s },
	"decodes":                func(s string) string { return decode(s, false) },
	"decodes, cleans":        func(s string) string { return clean(decode(s, false)) },
	"cleans, decodes":        func(s string) string { return decode(clean(s), false) },
	"decodes twice":          func(s string) string { return clean(decode(decode(s, false), false)) },
	"keeps encoded slashes":  func(s string) string { return clean(decode(s, true)) },
	"ignores case":           func(s string) string { return lower(clean(decode(s, false))) },
	"cuts parameters":        func(s string) string { return clean(decode(cutParameters(s), false)) },
	"cuts parameters later":  func(s string) string { return clean(cutParameters(decode(s, false))) },
	"collapses":              func(s string) string { return collapse(decode(s, false)) },
	"collapses first":        func(s string) string { return resolve(collapse(decode(s, false))) },
	"backslashes":            func(s string) string { return clean(strings.ReplaceAll(decode(s, false), `\`, "/")) },
	"rewrites the URL":       func(s string) string { return clean(cutQuery(decode(s, false))) },
	"rewrites the URL twice": func(s string) string { return clean(cutQuery(decode(cutQuery(decode(s, false)), false))) },
	"cuts, backslashes": func(s string) string {
		return lower(clean(strings.ReplaceAll(cutParameters(decode(s, false)), `\`, "/")))
	},
}

// clean cleans a path as net/http.ServeMux does.
func clean(s string) string {
	c := path.Clean("/" + s)
	if strings.HasSuffix(s, "/") && c != "/" {
		c += "/"
	}
	return c
}

// corpus returns ways to write paths into /admin/ and /public/.
func corpus() []string {
	var list []string
	for _, dots := range []string{"..", "%2e%2e", ".%2e", "%2E.", "%252e%252e", "..;", "..;x=1", "%2e%2e;", ".", "%2e", "x/..", "x/%2e%2e"} {
		for _, slash := range []string{"/", "//", "%2f", "%2F", "%252f", "%5c", "%255C", "/./", "/;/"} {
			list = append(list, "/public"+slash+dots+slash+"admin"+slash+"page", "/admin"+slash+dots+slash+"public"+slash+"page")
		}
	}
	for _, word := range []string{"admin", "Admin", "ADMIN", "%61dmin", "%41dmin", "%2561dmin", "adm%69n", "admin%3f", "admin%3F/x", "admin%23", "admin%253fx", "public%3f/../admin", "admin;", "admin;a=b", "admin%3b", "admin%3Bx", "admin.", "admin%20", "admin%00", "ad/min", "a%64min%2f", "Public", "public", "pub%6cic;v"} {
		for _, tail := range []string{"", "/", "//", "/page", "//page", "%2fpage", "/PAGE", "/%70age", ";/page", "/.", "/./page", "/page/", "/page;x", "/page%3fx", "/page%23"} {
			list = append(list, "/"+word+tail)
		}
	}
	return list
}

// ruleSets close and open the same paths in different ways.
func ruleSets() map[string]Host {
	anyone, closed := Allow{Anyone: true}, Allow{}
	return map[string]Host{
		"closed subtree":     {Default: anyone, Rules: []Rule{{"/admin/", closed}}},
		"open subtree":       {Default: closed, Rules: []Rule{{"/public/", anyone}}},
		"both":               {Default: closed, Rules: []Rule{{"/admin/", closed}, {"/public/", anyone}}},
		"one page":           {Default: anyone, Rules: []Rule{{"/admin/page", closed}, {"/admin", closed}}},
		"page and below":     {Default: anyone, Rules: []Rule{{"/admin/page", closed}, {"/admin/page/", closed}}},
		"any second":         {Default: anyone, Rules: []Rule{{"/{x}/page", closed}, {"/public/page", anyone}}},
		"upper case, method": {Default: anyone, Rules: []Rule{{"/Admin/", closed}, {"GET /public/page", closed}}},
	}
}

// TestNoReadingGetsPast checks that, however a server reads a path, it does not serve a
// page that needs a session without one. Open paths still pass.
func TestNoReadingGetsPast(t *testing.T) {
	t.Parallel()
	targets := corpus()
	if len(targets) < 300 {
		t.Fatalf("%d targets", len(targets))
	}
	for name, h := range ruleSets() {
		s := compiled(t, h)
		passed := 0
		for _, target := range targets {
			if s.Judge(t.Context(), asked("GET", target, nil)).Verdict != Allowed {
				continue
			}
			passed++
			for how, read := range readers {
				page := read(target)
				if rule := s.allow(s.find(&s.exact, "GET", segmentsOf(page, nil), false)); !rule.Anyone && !openAlike(s, page) {
					t.Errorf("%s: %s passes, and a server that %s serves %s", name, target, how, page)
				}
			}
		}
		if passed == 0 {
			t.Errorf("%s: nothing passes", name)
		}
	}
}

// openAlike reports whether a rule of its own opens a path with the final slash added
// or removed.
func openAlike(s *Site, page string) bool {
	return s.allow(s.find(&s.exact, "GET", otherEnd(segmentsOf(page, nil)), false)).Anyone
}

// FuzzReadings checks that no server in readers reads a path as one that was not
// judged.
func FuzzReadings(f *testing.F) {
	for _, target := range corpus()[:100] {
		f.Add(target)
	}
	f.Add("/A0%250a0/.") // an escape that appears by decoding, in lower case
	f.Add("/%2F/.")      // two slashes at the end
	f.Fuzz(func(t *testing.T, target string) {
		p, ok := pathOf(target)
		if !ok {
			return
		}
		p = upperEscapes(p)
		all, ok := readings(p, nil)
		if !ok {
			return
		}
		if len(all) > maxReadings {
			t.Fatalf("%d readings", len(all))
		}
		for how, read := range readers {
			got := upperEscapes(read(p))
			found := false
			for _, r := range all {
				found = found || r == got || sameBut(r, got) || clean(r) == got || strings.EqualFold(r, got) && r == lowerPath(got)
			}
			if !found {
				t.Errorf("%q: a server that %s makes %q of it, which is not judged: %q", p, how, got, all)
			}
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	rules := []Rule{{"/static/", Allow{Anyone: true}}}
	for _, word := range strings.Fields(strings.Repeat("a b c d e f g h i j ", 5)) {
		rules = append(rules, Rule{"/" + word + strings.Repeat("x", len(rules)) + "/", Allow{}})
	}
	table, problems := Compile([]Host{{Origin: "https://app.example.com", Rules: rules}})
	if problems != nil {
		b.Fatal(problems)
	}
	s, _ := table.Find("app.example.com")
	who := person("ops")
	a := asked("GET", "/dashboard/overview?x=1", who)
	b.ReportAllocs()
	for b.Loop() {
		if s.Judge(b.Context(), a).Verdict != Allowed {
			b.Fatal("refused")
		}
	}
}

// sameBut reports whether two paths differ only by a final slash, which is judged both
// ways (see otherEnd).
func sameBut(a, b string) bool { return a == b+"/" || b == a+"/" }

// TestCaseOpensNothing checks that, if a path passes with some letters in the other
// case, the lower-case path passes by the lower-case rules, whatever its escapes are.
func TestCaseOpensNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	segment := func() string { return pick("Admin", "admin", "a%2Fb", "a%2fB", "A", "x", "%41", "caf%C3%A9", "é") }
	passed := 0
	for range 20_000 {
		h := Host{Origin: "https://a.example", Default: Allow{Anyone: random.IntN(2) == 0}}
		folded := Host{Origin: h.Origin, Default: h.Default}
		for range 1 + random.IntN(4) {
			match := "/" + pick("Admin", "admin", "A", "x", "{y}", "a%2Fb") + pick("", "/", "/{z}", "/A", "/a%2FB")
			r := Rule{match, Allow{Anyone: random.IntN(2) == 0}}
			h.Rules = append(h.Rules, r)
			r.Match = lowerPath(match)
			folded.Rules = append(folded.Rules, r)
		}
		table, problems := Compile([]Host{h})
		small, more := Compile([]Host{folded})
		if len(problems)+len(more) > 0 {
			continue
		}
		s, _ := table.Find("a.example")
		low, _ := small.Find("a.example")
		path := "/" + strings.ReplaceAll(segment(), "é", "%c3%a9") + pick("", "/", "/"+strings.ReplaceAll(segment(), "é", "%c3%a9"))
		path = changed(path, random)
		if s.Judge(t.Context(), asked("GET", path, nil)).Verdict != Allowed {
			continue
		}
		passed++
		if d := low.Judge(t.Context(), asked("GET", lowerPath(path), nil)); d.Verdict != Allowed {
			t.Fatalf("%s passes by %v, and %s by %v: %v", path, h.Rules, lowerPath(path), folded.Rules, d.Verdict)
		}
	}
	if passed < 1000 {
		t.Errorf("twin: %d passed", passed)
	}
}

// changed returns a path with the case of some letters changed, except in escapes.
func changed(path string, random *rand.Rand) string {
	b := []byte(path)
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '%':
			i += 2
		case random.IntN(2) == 0 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			b[i] = c ^ 0x20
		}
	}
	return string(b)
}
