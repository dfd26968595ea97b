package seal

import (
	"encoding/hex"
	"testing"
)

// Known answers for the token format of next-auth 4.24.

func TestNextAuthV4Keys(t *testing.T) {
	t.Parallel()
	tests := []struct{ secret, salt, want string }{
		{"s3cret", "", "7081477973440911006a58532d9d7b407c5f6e29a592f60497fa56fa18f81527"},
		{"s3cret", "next-auth.state", "6fb6ffe91fbb104519f1442488d6b5a9a57d10ab8e01aac8ed935bae185b60d3"},
		{"s3cret", "__Secure-next-auth.pkce.code_verifier", "05b5731bbc6db759f73717c19f094133acd6b1b4f6e1337adf7c1aa447ab2664"},
		{"a-longer-secret-with-unicode-é", "", "7877269a1327656ed63781a35fb1e7644f0fb46e749cd6cc98bfc923b5b17f29"},
	}
	for _, test := range tests {
		if got := hex.EncodeToString(nextAuthV4Key(test.secret, test.salt)); got != test.want {
			t.Errorf("secret %q, salt %q: key %s, want %s", test.secret, test.salt, got, test.want)
		}
	}
}

const (
	v4Session          = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AQEBAQEBAQEBAQEB.pdTFIF44X27nKXDfXsPU4-Ks25SwMReNAPZr7vKtJXZJq5HzKKUTbjY-UBupXZJcmraNp--XQ9qcn4zS-iTUVU06CqcNiKpx9wjpGXyVocSLYnT0p3X0wSmqRW1V6J3uuODzWuCZTZbM7ALax9c6TZDcs8GDTwul8SMFWsDcGn61YWo9uf-Mg88.4Be-wpMJSh_Hb_VsYu36Nw"
	v4SessionPlaintext = `{"name":"Ada","email":"ada@x.io","picture":null,"sub":"7","iat":1700000000,"exp":4102444800,"jti":"00000000-0000-4000-8000-000000000000"}`
	v4State            = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AgICAgICAgICAgIC.ycntrpHnKP_WIBizuGP6gtBdN1ybkU89cGIlxvLj6aM_MLLURpGfHSUG1yAjGbNVdNhW4ir9zV7B4Q6OjRj1eLVBTN60PRQRk7GWinfsaRqP8N8QvJoY-WCe5oLera_PObXbkUQy6DUNQj7mKWzODQ.Tqn7XrUX3tl2hd8XRpR2Ig"
	v4StatePlaintext   = `{"value":"STATE","provider":"op","iat":1700000000,"exp":4102444800,"jti":"00000000-0000-4000-8000-000000000000"}`
)

func TestNextAuthV4Tokens(t *testing.T) {
	t.Parallel()
	r := ring(t, "s3cret")
	session, state := r.NextAuthV4(""), r.NextAuthV4("next-auth.state")
	wantOpen(t, session, v4Session, v4SessionPlaintext, false)
	wantOpen(t, state, v4State, v4StatePlaintext, false)
	wantOpen(t, ring(t, "newer", "s3cret").NextAuthV4(""), v4Session, v4SessionPlaintext, true)
	wantRefused(t, session, v4State)
	wantRefused(t, state, v4Session)
	wantRefused(t, ring(t, "other").NextAuthV4(""), v4Session)
}

// TestAuthJSV5OpensGCM covers a v5 deployment that still has tokens with the older
// encryption.
func TestAuthJSV5OpensGCM(t *testing.T) {
	t.Parallel()
	const cookie = "authjs.session-token"
	oldKey := func(secret string) key {
		return newKey(a256gcm, authJSV5Key(secret, cookie, a256gcm), "", false)
	}
	s := ring(t, "new", "old").AuthJSV5(cookie)
	for _, test := range []struct {
		secret string
		stale  bool
	}{{"new", false}, {"old", true}} {
		k := oldKey(test.secret)
		token := (&Sealer{keys: []key{k}})
		wantOpen(t, s, mustSeal(t, token, "x"), "x", test.stale)
	}
	unknown := oldKey("other")
	wantRefused(t, s, mustSeal(t, &Sealer{keys: []key{unknown}}, "x"))
}
