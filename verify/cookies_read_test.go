package verify

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// cookiesAsk sends GET session with literal Cookie header lines.
func cookiesAsk(w *arena.World, lines ...string) *browser.Answer {
	b := w.Browser()
	b.Header["Cookie"] = lines
	return b.Get("/api/auth/session")
}

// cookiesPair returns a world with a signed-in victim and a signed-in attacker, and
// both session cookies.
func cookiesPair(t *T, strategy string) (w *arena.World, victim *arena.Browser, mine, evil string) {
	t.Helper()
	w = t.Enter(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
	victim, attacker := w.Browser(), w.Browser()
	victim.SignIn(w.OP, "ada")
	attacker.SignIn(w.OP, "grace")
	return w, victim, victim.Cookies[w.SessionCookie()], attacker.Cookies[w.SessionCookie()]
}

// cookiesWithoutUser checks that Cookie lines contain no valid session and change nothing.
// With expired, their cookies under session names must be expired.
func cookiesWithoutUser(t *T, w *arena.World, what string, expired bool, lines ...string) {
	t.Helper()
	before := w.Ledger.Lasting()
	a := cookiesAsk(w, lines...)
	if a.StatusCode != 200 || a.Text != cookiesNull(t) || w.Ledger.Lasting() != before {
		t.Errorf("%s: %d %s", what, a.StatusCode, a.Text)
	}
	if set := strings.Join(a.Header["Set-Cookie"], "\n"); expired != strings.Contains(set, w.SessionCookie()) {
		t.Errorf("%s: Set-Cookie %q", what, set)
	}
}

// cookiesNull returns the body of GET session without a session.
func cookiesNull(t *T) string {
	if t.Mode == modeV5 {
		return "null"
	}
	return "{}"
}

// cookiesAda checks that Cookie lines contain ada's session.
func cookiesAda(t *T, w *arena.World, what string, lines ...string) {
	t.Helper()
	if a := cookiesAsk(w, lines...); !strings.Contains(a.Text, "ada@example.com") {
		t.Errorf("twin, %s: %d %s", what, a.StatusCode, a.Text)
	}
}

func cookies03(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w, _, mine, evil := cookiesPair(t, strategy)
		s := w.SessionCookie()
		for what, lines := range map[string][]string{
			"attacker first": {s + "=" + evil + "; " + s + "=" + mine},
			"victim first":   {s + "=" + mine + "; " + s + "=" + evil},
			"two lines":      {s + "=" + mine, s + "=" + evil},
			"three":          {s + "=" + mine + "; " + s + "=" + evil + "; " + s + "=" + mine},
			"garbage beside": {s + "=" + mine + "; " + s + "=x"},
			"empty beside":   {s + "=" + mine + "; " + s + "="},
		} {
			audits := w.Audits.Load()
			cookiesWithoutUser(t, w, what, true, lines...)
			if got := w.Audits.Load() - audits; got != 1 {
				t.Errorf("%s: %d events", what, got)
			}
			wire := redirectWire(t, w)
			a := wire("GET /api/auth/session HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\nCookie: " + strings.Join(lines, "\r\nCookie: ") + "\r\n\r\n")
			if a.StatusCode != 200 || a.Text != cookiesNull(t) {
				t.Errorf("%s on the wire: %d %s", what, a.StatusCode, a.Text)
			}
		}
		cookiesAda(t, w, "one", s+"="+mine)
		cookiesAda(t, w, "one value twice", s+"="+mine+"; "+s+"="+mine)
	})
}

// cookies04 uses a pair issued to the attacker, under names that a sibling host can
// plant.
func cookies04(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w, victim, _, _ := cookiesPair(t, strategy)
		attacker := w.Browser()
		token := attacker.CSRF()
		pair := attacker.Cookies[w.CSRFCookie()]
		bare := strings.TrimPrefix(w.CSRFCookie(), "__Host-")
		for _, name := range []string{bare, "__Secure-" + bare, "__host-" + bare, "__Host-" + strings.ToUpper(bare)} {
			for _, site := range [][]string{{}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://sub.app.test"}} {
				planted := victim.Clone()
				delete(planted.Cookies, w.CSRFCookie())
				planted.Cookies[name] = pair
				w.NoEffect(t, victim, func() *browser.Answer {
					return planted.Clone().Form("/api/auth/signout", url.Values{"csrfToken": {token}}, site...)
				})
			}
		}
		if t.Mode == modeNone { // in other modes the pair is bound to no session, as csrf-05 says
			planted := victim.Clone()
			planted.Cookies[w.CSRFCookie()] = pair
			w.NoEffect(t, victim, func() *browser.Answer {
				return planted.Form("/api/auth/signout", url.Values{"csrfToken": {token}})
			})
		}
		if a := victim.Post("/api/auth/signout"); a.Location() != arena.Origin || w.Person(t, victim) != "" {
			t.Errorf("twin: %d %s", a.StatusCode, a.Location())
		}
	})
}

// cookiesAlike returns cookies that resemble the given one but must not match it.
func cookiesAlike(name, value string) map[string]string {
	return map[string]string{
		"other case":        "__HoSt-" + strings.TrimPrefix(strings.TrimPrefix(name, "__Host-"), "__Secure-") + "=" + value,
		"upper case":        strings.ToUpper(name) + "=" + value,
		"nameless":          "=" + name + "=" + value,
		"Unicode blank":     "\u2003" + name + "=" + value,
		"no-break space":    "\u00a0" + name + "=" + value,
		"quoted":            name + `="` + value + `"`,
		"RFC 2965":          `$Version="1"; ` + name + `="` + value + `"; $Path="/"`,
		"NUL in the name":   name + "\x00=" + value,
		"NUL in the value":  name + "=" + value + "\x00",
		"comma":             "a=b, " + name + "=" + value,
		"percent-encoded":   strings.Replace(name, "-", "%2D", 1) + "=" + value,
		"a letter more":     name + "x=" + value,
		"vertical tab":      "\v" + name + "=" + value,
		"inside of another": "a=" + name + "=" + value,
	}
}

func cookies05(t *T) {
	w, victim, mine, _ := cookiesPair(t, "database")
	s := w.SessionCookie()
	for what, line := range cookiesAlike(s, mine) {
		if a := cookiesAsk(w, line); a.StatusCode != 200 || a.Text != cookiesNull(t) {
			t.Errorf("session, %s: %d %s", what, a.StatusCode, a.Text)
		}
	}
	cookiesAda(t, w, "exact", s+"="+mine)
	cookiesAda(t, w, "blanks", "a=b;  \t"+s+" = "+mine+" ;c=d")
	cookiesAda(t, w, "$Version is another cookie", "$Version=1; "+s+"="+mine+"; $Path=/")
	token := victim.CSRF()
	pair := victim.Cookies[w.CSRFCookie()]
	post := func(line string) *browser.Answer {
		b := w.Browser()
		b.Header["Cookie"] = []string{s + "=" + mine + "; " + line}
		return b.Form("/api/auth/signout", url.Values{"csrfToken": {token}})
	}
	for _, line := range cookiesAlike(w.CSRFCookie(), pair) {
		w.NoEffect(t, victim, func() *browser.Answer { return post(line) })
	}
	if a := post(w.CSRFCookie() + "=" + pair); a.Location() != arena.Origin {
		t.Errorf("twin: %d %s", a.StatusCode, a.Location())
	}
}

// cookies06 sends cookies that are valid over https under the names used over http.
func cookies06(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w, victim, mine, _ := cookiesPair(t, strategy)
		plain := func(name string) string {
			return strings.TrimPrefix(strings.TrimPrefix(name, "__Host-"), "__Secure-")
		}
		s := w.SessionCookie()
		others := []string{plain(s), "__Secure-authsvc.session", "__Secure-next-auth.session-token", "__Secure-authjs.session-token", "next-auth.session-token", "authjs.session-token"}
		for _, name := range slices.DeleteFunc(others, func(n string) bool { return n == s }) {
			cookiesWithoutUser(t, w, name, false, name+"="+mine)
			cookiesWithoutUser(t, w, name+" in chunks", false, name+".0="+mine[:20]+"; "+name+".1="+mine[20:])
		}
		cookiesAda(t, w, "names of http beside", plain(s)+"=x; a=b; "+s+"="+mine)
		pending := victim.Approve(w.OP, victim.Begin("op"), "ada")
		dressed := victim.Clone()
		for name, v := range victim.Cookies {
			if strings.Contains(name, ".tx.") {
				delete(dressed.Cookies, name)
				dressed.Cookies[plain(name)] = v
			}
		}
		w.NoEffect(t, victim, func() *browser.Answer { return dressed.Get(pending) })
		b := w.Browser()
		b.Cookies[plain(s[:strings.LastIndex(s, ".")])+".callback-url"] = "%2Fplanted"
		if a := b.Post("/api/auth/signout"); a.Location() != arena.Origin {
			t.Errorf("callback-url of http: %s", a.Location())
		}
		if a := victim.Get(pending); a.Location() != arena.Origin {
			t.Errorf("twin: the attempt under its own name: %s", a.Location())
		}
	})
}

// cookies08 tries all orders of five chunks, the maximum.
func cookies08(t *T) {
	size := 13_000
	w := t.EnterOffline(cookiesFat(&size))
	b := w.Browser()
	b.Login("ada")
	names := b.SessionCookies()
	if slices.Sort(names); len(names) != 5 {
		t.Fatalf("%d chunks", len(names))
	}
	want := b.Get("/api/auth/session").Text
	orders := 0
	cookiesOrders(names, func(order []string) {
		orders++
		line := "a=b"
		for _, name := range order {
			line += "; " + name + "=" + b.Cookies[name] + "; other=x"
		}
		if got := cookiesAsk(w, line).Text; got != want || !strings.Contains(got, "ada@app.test") {
			t.Errorf("%v: %.100s, want %.100s", order, got, want)
		}
	})
	t.Figure("%d orders", orders)
}

// cookiesOrders calls f with every order of list.
func cookiesOrders(list []string, f func([]string)) {
	var at func(int)
	at = func(k int) {
		if k == len(list) {
			f(list)
			return
		}
		for i := k; i < len(list); i++ {
			list[k], list[i] = list[i], list[k]
			at(k + 1)
			list[k], list[i] = list[i], list[k]
		}
	}
	at(0)
}

func cookies09(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w, _, mine, _ := cookiesPair(t, strategy)
		s := w.SessionCookie()
		slowest := time.Duration(0)
		for what, line := range map[string]string{
			"bare and chunk": s + "=" + mine + "; " + s + ".0=" + mine, "bare and .1": s + ".1=x; " + s + "=" + mine,
			".00": s + ".00=" + mine, ".-1": s + ".-1=" + mine, ".+0": s + ".+0=" + mine, ".1e1": s + ".1e1=" + mine, ".0x0": s + ".0x0=" + mine,
			".99999999999": s + ".99999999999=" + mine, ".abc": s + ".abc=" + mine, "dot": s + ".=" + mine, "two dots": s + "..0=" + mine, ".0.0": s + ".0.0=" + mine,
			".1 alone": s + ".1=" + mine, ".5": s + ".0=" + mine + "; " + s + ".5=x", ".0 beside .00": s + ".0=" + mine + "; " + s + ".00=x",
			"missing middle": s + ".0=" + mine[:20] + "; " + s + ".2=" + mine[20:],
			"duplicate .1":   s + ".0=" + mine[:20] + "; " + s + ".1=" + mine[20:] + "; " + s + ".1=x",
			"empty chunk":    s + ".0=" + mine + "; " + s + ".1=",
			"bomb of names":  s + "=" + mine + "; " + strings.Repeat(s+".0=x; ", 300),
		} {
			cookiesWithoutUser(t, w, what, true, line)
			fastest := time.Hour
			for range 20 {
				began := time.Now()
				cookiesAsk(w, line)
				fastest = min(fastest, time.Since(began))
			}
			slowest = max(slowest, fastest)
		}
		// A name that cannot be in a Set-Cookie line is not expired.
		cookiesWithoutUser(t, w, "digits of another script", false, s+".٠="+mine)
		if t.Figure("%v at most", slowest.Round(10*time.Microsecond)); measures() && slowest > time.Millisecond {
			t.Errorf("%v", slowest)
		}
		cookiesAda(t, w, "chunks", s+".0="+mine[:20]+"; "+s+".1="+mine[20:])
		cookiesAda(t, w, "one chunk", s+".0="+mine)
		cookiesRandom(t, w, mine)
	})
}

// cookiesRandom compares random sets with a naive way to join them.
func cookiesRandom(t *T, w *arena.World, token string) {
	r := rand.New(rand.NewPCG(1, 2))
	in := 0
	n := t.Scale("random sets", 300, 5000, 500_000)
	for range n {
		set := cookiesSet(r, w.SessionCookie(), token)
		line := strings.Join(set, "; ")
		a := cookiesAsk(w, line)
		got := strings.Contains(a.Text, "ada@example.com")
		if want := cookiesJoined(w.SessionCookie(), set) == token; got != want || !got && a.Text != cookiesNull(t) {
			t.Fatalf("%q is a session: %v, want %v: %s", line, got, want, a.Text)
		}
		if got {
			in++
		}
	}
	if in == 0 || in == n {
		t.Errorf("twin: %d of the sets are sessions", in)
	}
}

// cookiesSet cuts a token into up to five chunks in some order, and often spoils the
// set.
func cookiesSet(r *rand.Rand, name, token string) (pairs []string) {
	k := 1 + r.IntN(5)
	for i := range k {
		pairs = append(pairs, fmt.Sprintf("%s.%d=%s", name, i, token[i*len(token)/k:(i+1)*len(token)/k]))
	}
	r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	any := r.IntN(len(pairs))
	switch r.IntN(8) {
	case 0:
		pairs = slices.Delete(pairs, any, any+1)
	case 1:
		pairs = append(pairs, pairs[any])
	case 2:
		pairs = append(pairs, pairs[any]+"x")
	case 3:
		pairs = append(pairs, name+"="+token)
	case 4:
		pairs = append(pairs, fmt.Sprintf("%s.%d=x", name, r.IntN(8)))
	case 5:
		pairs[any] = strings.Replace(pairs[any], name+".", name+".0", 1)
	}
	return pairs
}

// cookiesJoined returns the session of a set, or "" unless there is exactly one.
func cookiesJoined(name string, pairs []string) string {
	chunks := map[string]string{}
	for _, p := range pairs {
		n, v, _ := strings.Cut(p, "=")
		if old, again := chunks[n]; again && old != v {
			return ""
		}
		chunks[n] = v
	}
	if bare, ok := chunks[name]; ok && len(chunks) == 1 {
		return bare
	}
	joined := ""
	for i := range len(chunks) {
		v, ok := chunks[fmt.Sprintf("%s.%d", name, i)]
		if !ok || i > 4 {
			return ""
		}
		joined += v
	}
	return joined
}

// cookies12 sends the binary as many cookies as a sibling host can plant.
func cookies12(t *T) {
	p := process.Serve(t, process.NewNeighbours(t).YAML(""), "AUTHSVC_STORAGE_URL=memory:")
	bomb := "GET /api/auth/signin HTTP/1.1\r\nHost: " + p.Addr + "\r\nConnection: close\r\n"
	for i := range 60 {
		bomb += fmt.Sprintf("Cookie: planted%d=%s\r\n", i, strings.Repeat("x", 4<<10))
	}
	fastest := time.Hour
	for range 5 {
		began := time.Now()
		if a := redirectDial(t, p.Addr, bomb+"\r\n"); a.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%d", a.StatusCode)
		}
		fastest = min(fastest, time.Since(began))
	}
	if t.Figure("431 after %v", fastest.Round(100*time.Microsecond)); measures() && fastest > 50*time.Millisecond {
		t.Errorf("431 after %v", fastest)
	}
	if a, err := browser.New(p.URL, nil).Get("/api/auth/signin"); err != nil || a.StatusCode != 200 {
		t.Errorf("twin: %v %v", a, err)
	}
	w := t.EnterOffline(cookiesFat(new(int)))
	b := w.Browser()
	b.Login("ada")
	line := strings.Repeat("a=; ", 5000) + w.SessionCookie() + "=" + b.Cookies[w.SessionCookie()]
	if a := cookiesAsk(w, line); !strings.Contains(a.Text, "ada@app.test") {
		t.Errorf("twin: behind the cookies of others: %s", a.Text)
	}
}

// cookies13 checks that without the CSRF cookie, a page of another site achieves
// nothing and sees no token.
func cookies13(t *T) {
	w := t.Enter(nil)
	victim := w.Browser()
	victim.SignIn(w.OP, "ada")
	attackers := w.Browser()
	token := attackers.CSRF()
	for _, site := range [][]string{{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.test"}, {"Sec-Fetch-Site", "same-site", "Origin", "https://sub.app.test"}, {"Origin", "https://sub.app.test"}, {}} {
		for _, path := range []string{"/api/auth/signin/email", "/api/auth/signout"} {
			evicted := victim.Clone()
			delete(evicted.Cookies, w.CSRFCookie())
			a := w.NoEffect(t, victim, func() *browser.Answer {
				return evicted.Form(path, url.Values{"csrfToken": {token}, "email": {"v@app.test"}}, site...)
			})
			fresh, _, _ := strings.Cut(evicted.Cookies[w.CSRFCookie()], map[bool]string{true: ".", false: "%"}[t.Mode == modeNone])
			if fresh != "" && strings.Contains(a.Location()+a.Text, fresh) || fresh != "" && len(site) > 0 {
				t.Errorf("%s %v: a new token is given out: %s", path, site, a.Location())
			}
			evicted.Header.Set("Origin", "https://sub.app.test")
			if a := evicted.Get("/api/auth/csrf"); a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("the token is shared with %s", a.Header.Get("Access-Control-Allow-Origin"))
			}
		}
	}
	delete(victim.Cookies, w.CSRFCookie())
	if a := victim.Post("/api/auth/signin/email", "email", "v@app.test"); !strings.Contains(a.Location(), "verify-request") {
		t.Errorf("twin: the page of the service: %d %s", a.StatusCode, a.Location())
	}
}
