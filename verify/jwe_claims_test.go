package verify

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// jwe09 seals claims with the service's own key, so that only the times decide.
func jwe09(t *T) {
	k := jweWorld(t, nil)
	const ada = `{"sub":"ada-id","email":"ada@app.test",`
	at := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	iat := `"iat":` + at(0) + `,`
	slack := sessionLeeway(t, "jwt")
	for what, claims := range map[string]string{
		"exp past": iat + `"exp":1`, "exp a second ago": iat + `"exp":` + at(-time.Second-slack), "exp missing": iat + `"x":1`, "exp null": iat + `"exp":null`, "exp zero": iat + `"exp":0`,
		"exp string": iat + `"exp":"` + at(time.Hour) + `"`, "exp 1e400": iat + `"exp":1e400`, "exp 1e300": iat + `"exp":1e300`, "exp huge": iat + `"exp":99999999999999`, "exp negative": iat + `"exp":-1`,
		"exp negative zero": iat + `"exp":-0`, "exp list": iat + `"exp":[` + at(time.Hour) + `]`, "exp object": iat + `"exp":{}`, "exp true": iat + `"exp":true`, "exp NaN": iat + `"exp":NaN`, "exp Infinity": iat + `"exp":Infinity`,
		"exp date": iat + `"exp":"2099-01-01T00:00:00Z"`, "exp hexadecimal": iat + `"exp":0xffffffff`, "EXP only": iat + `"EXP":` + at(time.Hour), "exp twice": iat + `"exp":1,"exp":` + at(time.Hour),
		"nbf future": iat + `"exp":` + at(time.Hour) + `,"nbf":` + at(time.Minute), "nbf huge": iat + `"exp":` + at(time.Hour) + `,"nbf":1e300`, "nbf string": iat + `"exp":` + at(time.Hour) + `,"nbf":"1"`, "nbf negative": iat + `"exp":` + at(time.Hour) + `,"nbf":-5`,
		"iat negative": `"iat":-1,"exp":` + at(time.Hour), "iat string": `"iat":"1","exp":` + at(time.Hour), "iat huge": `"iat":1e300,"exp":` + at(time.Hour),
		"no times at all": `"x":1`, "neither iat nor auth_time": `"exp":` + at(time.Hour),
	} {
		k.refused(t, what, k.seal(t, ada+claims+`}`))
	}
	for what, claims := range map[string]string{"long past": "1", "huge": "1e300", "string": `"1"`} {
		claims = ada + iat + `"exp":` + at(time.Hour) + `,"auth_time":` + claims
		k.refused(t, "auth_time "+what, k.seal(t, claims+`,"authsvc_epoch":0}`))
		k.foreign(t, "auth_time "+what, k.seal(t, claims+`}`))
	}
	for what, claims := range map[string]string{
		"an hour": iat + `"exp":` + at(time.Hour), "five seconds": iat + `"exp":` + at(5*time.Second), "fractions": iat + `"exp":` + at(time.Hour) + `.5`, "exponent": iat + `"exp":4.0e9`,
		"nbf past": iat + `"exp":` + at(time.Hour) + `,"nbf":` + at(-time.Minute),
	} {
		k.good(t, what, k.seal(t, ada+claims+`}`))
	}
}

// jwe16 seals claims of wrong types with the service's own key.
func jwe16(t *T) {
	k := jweWorld(t, nil)
	times := jweTimes(0, time.Hour)
	deep := func(n int, open, closing string) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(closing, n)
	}
	for what, claims := range map[string]string{
		"sub number": `{"sub":7,` + times + `}`, "sub list": `{"sub":["ada-id"],` + times + `}`, "sub null": `{"sub":null,` + times + `}`, "sub empty": `{"sub":"",` + times + `}`, "sub missing": `{` + times + `}`,
		"sub object": `{"sub":{"toString":"ada-id"},` + times + `}`, "sub true": `{"sub":true,` + times + `}`, "sub in capitals": `{"SUB":"ada-id",` + times + `}`, "sub nested": `{"user":{"sub":"ada-id"},` + times + `}`,
		"sub twice": `{"sub":"ada-id","sub":"bob-id",` + times + `}`, "sub twice, escaped": `{"sub":"ada-id","\u0073ub":"bob-id",` + times + `}`, "sub twice, null": `{"sub":"ada-id",` + times + `,"sub":null}`,
		"email twice": `{"sub":"ada-id","email":"a@app.test","email":"b@app.test",` + times + `}`, "sid twice": `{"sub":"ada-id","sid":"a","sid":"b",` + times + `}`, "auth_time twice": `{"sub":"ada-id","auth_time":1,"auth_time":2,` + times + `}`,
		"jti number": `{"sub":"ada-id","jti":7,` + times + `}`,
		"a string":   `"ada-id"`, "a list": `[{"sub":"ada-id",` + times + `}]`, "null": `null`, "a number": `7`, "nothing": ``, "two objects": `{"sub":"ada-id",` + times + `}{"sub":"bob-id"}`, "cut short": `{"sub":"ada-id",` + times,
		"comments": `{"sub":"ada-id"/**/,` + times + `}`, "a comma more": `{"sub":"ada-id",` + times + `,}`, "single quotes": `{'sub':'ada-id',` + times + `}`, "unclosed depth": `{"sub":"ada-id",` + times + `,"x":` + strings.Repeat("[", 10_000),
		"depth 10000": `{"sub":"ada-id",` + times + `,"x":` + deep(10_000, "[", "]") + `}`, "nesting in sub": `{"sub":` + deep(5000, "[", "]") + `,` + times + `}`,
	} {
		token := k.seal(t, claims)
		began := time.Now()
		k.refused(t, what, token)
		if took := time.Since(began); took > within(time.Second) {
			t.Errorf("%s took %v", what, took)
		}
	}
	jwe16Foreign(t, k, times)
	jwe16Bounded(t, k, deep)
}

// jwe16Foreign checks that claims of a NextAuth.js application that share names with
// ours are not read, and that in our own tokens they are refused.
func jwe16Foreign(t *T, k *jweBench, times string) {
	for what, member := range map[string]string{
		"email object": `"email":{"a":"ada@app.test"}`, "name number": `"name":7`, "picture list": `"picture":["x"]`,
		"sid object": `"sid":{}`, "provider list": `"provider":["op"]`,
	} {
		claims := `{"sub":"ada-id",` + member + `,` + times
		k.foreign(t, what, k.seal(t, claims+`}`))
		if of, _, _ := strings.Cut(what, " "); t.Mode == modeNone || of == "sid" || of == "provider" {
			k.refused(t, what+" in a token of ours", k.seal(t, claims+`,"authsvc_epoch":0}`))
		}
	}
}

// jwe16Bounded checks that the engine quickly accepts or refuses claims that it does
// not read, and that nothing confuses it.
func jwe16Bounded(t *T, k *jweBench, deep func(int, string, string) string) {
	worst := time.Duration(0)
	for what, member := range map[string]string{
		"depth 5000": `"x":` + deep(5000, "[", "]"), "objects": `"x":` + deep(2000, `{"a":`, "}"), "nested sub": `"x":{"sub":"bob-id","exp":1}`, "capitals": `"SUB":"bob-id","Exp":1`, "long s": `"ſub":"bob-id"`,
		"prototype": `"__proto__":{"sub":"bob-id"}`, "large number": `"x":1e400`, "long number": `"x":` + strings.Repeat("9", 10_000), "surrogates": `"x":"\ud800"`, "bytes": "\"x\":\"\xff\"",
		"null name": `"\u0000":"x"`, "the application's claim twice": `"role":"a","role":"b"`,
	} {
		b := k.w.Browser()
		b.Cookies[k.w.SessionCookie()] = k.seal(t, `{"sub":"ada-id","email":"ada@app.test",`+member+`,`+jweTimes(0, time.Hour)+`}`)
		began := time.Now()
		a := b.Clone().Get("/api/auth/session")
		worst = max(worst, time.Since(began))
		if a.StatusCode != 200 || strings.Contains(a.Text, "bob") {
			t.Errorf("%s: %d %s", what, a.StatusCode, a.Text)
		}
		if who := k.w.Person(t, b); who != "" && who != "ada-id" {
			t.Errorf("%s: it is %q", what, who)
		}
	}
	if worst > within(100*time.Millisecond) {
		t.Errorf("a token takes %v", worst)
	}
	k.good(t, "a token", k.token(t))
	t.Figure("%v at most", worst.Round(time.Microsecond))
}

// jwe04 changes every character and, in the parts that are bytes, as many bits as the
// scale requires.
func jwe04(t *T) {
	k := jweWorld(t, nil)
	token := k.token(t)
	k.good(t, "the token", token)
	want, elsewhere := jweAnswer(k, "a.b.c.d.e"), jweAnswer(k, k.sealAs(t, `{`+k.members(t, "kid")+`,"kid":"x"}`, []byte("{}")))
	if (want == elsewhere) != (len(k.kids) == 0) {
		t.Errorf("by an unknown key: %s, any other: %s", elsewhere, want)
	}
	tried := 0
	same := func(what, other string) {
		t.Helper()
		tried++
		want := want
		if k.elsewhere(other) { // as its public header says
			want = elsewhere
		}
		if got := jweAnswer(k, other); got != want {
			t.Errorf("%s: %s, any other: %s", what, got, want)
		}
	}
	for i := range token {
		same(fmt.Sprintf("character %d", i), flip(token, i))
		same(fmt.Sprintf("without character %d", i), token[:i]+token[i+1:])
	}
	every := t.Stride("bits changed", 8, 1, 1)
	parts := strings.Split(token, ".")
	for p := range parts {
		raw := jweRaw(t, parts[p])
		for bit := 0; bit < 8*len(raw); bit += every {
			changed := append([]byte(nil), raw...)
			changed[bit/8] ^= 1 << (bit % 8)
			same(fmt.Sprintf("bit %d of part %d", bit, p), strings.Join(append(append(append([]string(nil), parts[:p]...), jweB64(string(changed))), parts[p+1:]...), "."))
		}
	}
	for _, key := range []string{"A", "AA", "AAAA", jweB64(string(k.key))} { // the second part, which is empty
		same("an encrypted key", strings.Replace(token, "..", "."+key+".", 1))
	}
	t.Figure("%d changes, the same answer to each", tried)
	if measures() {
		jwe04Times(t, k, token)
	}
}

// jweAnswer returns everything that a client sees of a token.
func jweAnswer(k *jweBench, token string) string {
	a := sessionRaw(k.w, k.w.SessionCookie()+"="+token)
	return fmt.Sprint(a.StatusCode, a.Text, a.Header)
}

// jwe04Times compares the times of refusals for changes at the start or end of
// ciphertext and tag. With CBC, a change in the last block spoils the padding, and a
// change in the tag does not. A busy machine gets three tries.
func jwe04Times(t *T, k *jweBench, token string) {
	rounds := t.Scale("rounds of timing", 0, 2000, 20_000)
	ends := [4]int{strings.Index(token, "..") + 2}
	for i := 1; i < 4; i++ { // after the IV and the ciphertext, and at the end
		if ends[i] = len(token); i < 3 {
			ends[i] = ends[i-1] + strings.Index(token[ends[i-1]:], ".") + 1
		}
	}
	forged := map[string]string{"ciphertext, first": flip(token, ends[1]), "ciphertext, last": flip(token, ends[2]-4), "tag, first": flip(token, ends[2]), "tag, last": flip(token, len(token)-3)}
	var low, high time.Duration
	for range 3 {
		low, high = jweMedians(k, forged, rounds)
		if high <= low*5/4+2*time.Microsecond {
			t.Figure("refusals take %v to %v, and that does not show where the change is", low, high)
			return
		}
	}
	t.Errorf("refusals take %v to %v, by where the change is", low, high)
}

// jweMedians returns the lowest and the highest median time of tokens, measured in
// turns.
func jweMedians(k *jweBench, tokens map[string]string, rounds int) (low, high time.Duration) {
	took := map[string][]time.Duration{}
	for range rounds {
		for what, token := range tokens {
			took[what] = append(took[what], jweTime(k, token))
		}
	}
	low = time.Hour
	for _, list := range took {
		m := jwePercentile(list, 50)
		low, high = min(low, m), max(high, m)
	}
	return low, high
}
