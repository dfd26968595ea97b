package adaptertest

import (
	"errors"
	"testing"

	"authsvc/adapter"
)

func hostileTests() []test {
	return []test{
		{"Hostile/injection is data", hostileData},
		{"Hostile/NUL and broken UTF-8 are kept whole or refused", hostileBytes},
	}
}

// injections returns texts that have a special meaning in some store.
func injections() []string {
	return []string{`'`, `"`, "`", `\`, `\'`, `''`, `;`, `--`, `/*`, `%`, `_`, `*`, `?`, `$1`, `:x`, `@x`, `{User}`, `#{x}`,
		`' OR '1'='1`, `'; DROP TABLE "User"; --`, `" OR ""="`, `$gt`, `{"$ne":""}`, `{"$where":"1"}`, "a\r\nDEL b", `a:b:*`, `[1]`,
		"NULL", "null", "\\x00", "%00", "\u202e", "\u2028", "\ufeff", " ", "\t", "0", "true", `\u0000`, `${jndi:x}`}
}

func hostileData(t *testing.T, a adapter.Adapter) {
	witness := signUp(t, a, "witness")
	taken := map[string]string{} // text: id of its user
	for i, text := range injections() {
		u := adapter.User{ID: numbered("user", i), Name: text, Email: text, Image: text}
		acc := adapter.Account{ID: numbered("account", i), Type: text, Provider: text, ProviderAccountID: text, RefreshToken: text,
			AccessToken: text, TokenType: text, Scope: text, IDToken: text, SessionState: text}
		s := session(numbered("s", i))
		s.SessionToken, s.Digest, s.Provider = text, text, text
		_, err := a.GetUserByEmail(t.Context(), text) // must not find another user
		is(t, err, adapter.ErrNotFound)
		_, err = a.GetUserByAccount(t.Context(), text, text)
		is(t, err, adapter.ErrNotFound)
		_, _, err = a.GetSession(t.Context(), text, text)
		is(t, err, adapter.ErrNotFound)
		_, _, err = a.TakeToken(t.Context(), text, text, at(0))
		is(t, err, adapter.ErrNotFound)

		u, err = a.SignUp(t.Context(), u, &acc, &s, "", nil)
		if refusesEmail(t, a, text, err) {
			continue
		}
		taken[text] = u.ID
		checkUnchanged(t, a, fixture{u, acc, s})
		owner, err := a.GetUserByEmail(t.Context(), text)
		ok(t, err)
		same(t, owner, u)
		putLink(t, a, text, text)
		same(t, links(t, a, text, text), 1)
		ok(t, a.DeleteMail(t.Context(), text))
		ok(t, a.UseOnce(t.Context(), text, at(1)))
		is(t, a.UseOnce(t.Context(), text, at(1)), adapter.ErrConflict)
		rev := revocation(text, 0, 1)
		ok(t, a.Revoke(t.Context(), rev))
		revocations(t, a, rev.Seq-1, *rev)
		meta, err := a.PutMeta(t.Context(), text, text)
		ok(t, err)
		same(t, meta, text)
	}
	checkUnchanged(t, a, witness)
	for text, owner := range taken {
		_, err := a.DeleteSession(t.Context(), text)
		ok(t, err)
		ok(t, a.UnlinkAccount(t.Context(), text, text, 0, about(owner)))
	}
	checkUnchanged(t, a, witness)
}

// hostileBytes checks that a store may refuse such text, but neither truncates nor
// changes it.
func hostileBytes(t *testing.T, a adapter.Adapter) {
	witness := signUp(t, a, "a")
	for i, text := range []string{"a\x00", "\x00", "a@example.com\x00.evil.example", "token-a\x00b", "\xff", "a\xc3", "\xed\xa0\x80"} {
		u := adapter.User{ID: numbered("user", i), Name: text, Email: text}
		acc := adapter.Account{ID: numbered("account", i), Type: "oauth", Provider: "p", ProviderAccountID: text, AccessToken: text}
		s := session(numbered("s", i))
		s.SessionToken = text
		u, err := a.SignUp(t.Context(), u, &acc, &s, "", nil)
		if err == nil {
			checkUnchanged(t, a, fixture{u, acc, s})
			continue
		}
		if errors.Is(err, adapter.ErrConflict) {
			t.Fatalf("%q was taken for another text", text)
		}
		_, err = a.GetUser(t.Context(), numbered("user", i))
		is(t, err, adapter.ErrNotFound)
	}
	checkUnchanged(t, a, witness)
}
