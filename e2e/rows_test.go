package e2e

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/adapter"
)

// TestRowsOfEither writes every record with one side and reads it with the other, in
// both directions.
func TestRowsOfEither(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, w place) {
		ours, js := w.open(t), w.theirs(t)
		sides := map[string][2]shared{"theirs, ours": {js, ours}, "ours, theirs": {ours, js}}
		for name, s := range sides {
			t.Run(name, func(t *testing.T) {
				r := relay{T: t, word: strings.ReplaceAll(name, ", ", "-"), writer: s[0], reader: s[1]}
				u := r.users()
				r.accounts(u, ours, w.narrow)
				r.sessions(u, ours)
				r.tokens()
				r.deletion(u, ours)
			})
		}
	})
}

// A relay passes rows from one side to the other.
type relay struct {
	*testing.T
	word           string // distinguishes its rows from those of the other direction
	writer, reader shared
}

// same compares what was read with what was written.
func same[V any](r relay, what string, want, got V, err error) {
	r.Helper()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		r.Errorf("%s: %v (-written +read)\n%.600s", what, err, diff)
	}
}

func (r relay) done(what string, err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", what, err)
	}
}

// moment returns a time with milliseconds, in winter or summer.
func moment(month time.Month) time.Time {
	return time.Date(2031, month, 28, 23, 59, 58, 123e6, time.UTC)
}

// proposed returns an id in the engine's form.
func proposed(word string) string {
	h := fmt.Sprintf("%x", sha256.Sum256([]byte(word)))
	return h[:8] + "-" + h[8:12] + "-7" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
}

// users creates a user, changes it and returns its final state.
func (r relay) users() authsvc.User {
	r.Helper()
	u, err := r.writer.CreateUser(r.Context(), authsvc.User{ID: proposed(r.word), Name: "Zoë “Ada” 王",
		Email: r.word + "@app.test", EmailVerified: moment(1), Image: "https://img.test/a.png?x=1&y=2"}, nil)
	r.done("create a user", err)
	got, err := r.reader.GetUserByEmail(r.Context(), u.Email)
	same(r, "user by address", u, got, err)
	got, err = r.reader.GetUser(r.Context(), u.ID)
	same(r, "user by id", u, got, err)

	for _, step := range []struct {
		to, from shared
		name     string
		proved   time.Time
	}{{r.writer, r.reader, "Ada King", moment(7)}, {r.reader, r.writer, "Ada Lovelace", moment(8)}} {
		change := adapter.UserUpdate{Name: &step.name, EmailVerified: &step.proved}
		u.Name, u.EmailVerified = step.name, step.proved
		got, err = step.to.UpdateUser(r.Context(), u.ID, change)
		same(r, "changed user", u, got, err)
		got, err = step.from.GetUser(r.Context(), u.ID)
		same(r, "changed user", u, got, err)
	}
	return u
}

// accounts links two accounts and keeps the second. Auth.js adapters do not read
// accounts, so our store does.
func (r relay) accounts(u authsvc.User, ours store, narrow bool) {
	r.Helper()
	long := 60_000
	if narrow {
		long = 250
	}
	var want []authsvc.Account
	for _, provider := range []string{"github", "google"} {
		a := authsvc.Account{ID: proposed(provider + r.word), UserID: u.ID, Type: "oauth", Provider: provider, ProviderAccountID: "Id-" + r.word,
			RefreshToken: strings.Repeat("r", long), AccessToken: strings.Repeat("a", long), IDToken: strings.Repeat("i", long),
			ExpiresAt: 1_999_999_999, TokenType: "bearer", Scope: "openid email", SessionState: "state"}
		_, err := r.writer.LinkAccount(r.Context(), a, 0)
		r.done("link an account", err)
		got, err := r.reader.GetUserByAccount(r.Context(), provider, a.ProviderAccountID)
		same(r, "user by account", u, got, err)
		a.ID = "" // the side that creates ids sets it
		want = append(want, a)
	}
	got, err := ours.ListAccounts(r.Context(), u.ID)
	for i := range got {
		got[i].ID = ""
	}
	same(r, "accounts", want, got, err)
	r.done("unlink", r.writer.UnlinkAccount(r.Context(), "github", "Id-"+r.word, u.Epoch, about(u)))
	_, err = r.reader.GetUserByAccount(r.Context(), "github", "Id-"+r.word)
	absent(r.T, "the unlinked account", err)
}

// common returns the fields of a session that both sides have.
func common(s adapter.SessionRecord) adapter.SessionRecord {
	return adapter.SessionRecord{SessionToken: s.SessionToken, UserID: s.UserID, Expires: s.Expires}
}

// about returns a revocation that covers no session of the test.
func about(u authsvc.User) *adapter.Revocation {
	return &adapter.Revocation{Key: "account:" + u.ID, UserID: u.ID, NotBefore: moment(1), Expires: moment(12)}
}

// epoch returns the epoch of a user after revocations by our store. Auth.js adapters
// have no epochs.
func (r relay) epoch(u authsvc.User, ours store) int64 {
	r.Helper()
	epoch, err := ours.GetEpoch(r.Context(), u.ID)
	r.done("read the epoch", err)
	return epoch
}

func (r relay) sessions(u authsvc.User, ours store) {
	r.Helper()
	s := adapter.SessionRecord{SessionToken: "token-" + r.word, Digest: "digest-" + r.word, UserID: u.ID, Expires: moment(2), ID: proposed("session" + r.word), Epoch: r.epoch(u, ours)}
	read := func(from shared) {
		r.Helper()
		got, owner, err := from.GetSession(r.Context(), s.SessionToken, s.Digest)
		same(r, "session", common(s), common(got), err)
		same(r, "its user", u, owner, err)
	}
	_, err := r.writer.CreateSession(r.Context(), s)
	r.done("create a session", err)
	read(r.reader)
	for month, step := range [][2]shared{{r.writer, r.reader}, {r.reader, r.writer}} {
		s.Expires = moment(time.Month(6 + month))
		r.done("extend a session", step[0].UpdateSession(r.Context(), s))
		read(step[1])
	}
	_, err = r.writer.DeleteSession(r.Context(), s.SessionToken)
	r.done("delete a session", err)
	_, _, err = r.reader.GetSession(r.Context(), s.SessionToken, s.Digest)
	absent(r.T, "the session", err)
}

func (r relay) tokens() {
	r.Helper()
	v := adapter.VerificationToken{Identifier: r.word + "@app.test", Token: "hash-" + r.word, Expires: moment(3)}
	r.done("store a token", r.writer.PutToken(r.Context(), v, adapter.Mail{ID: v.Token, Due: v.Expires, Expires: v.Expires}, 1000))
	got, _, err := r.reader.TakeToken(r.Context(), v.Identifier, v.Token, moment(0))
	same(r, "token", v, got, err)
	_, _, err = r.writer.TakeToken(r.Context(), v.Identifier, v.Token, moment(0))
	absent(r.T, "the used token", err)
}

// deletion checks that deleting a user also deletes its account and session.
func (r relay) deletion(u authsvc.User, ours store) {
	r.Helper()
	_, err := r.reader.CreateSession(r.Context(), adapter.SessionRecord{ID: proposed("last" + r.word),
		SessionToken: "last-" + r.word, Digest: "last-" + r.word, UserID: u.ID, Expires: moment(4), Epoch: r.epoch(u, ours)})
	r.done("create a session", err)
	r.done("delete the user", r.writer.DeleteUser(r.Context(), u.ID, about(u)))
	_, err = r.reader.GetUser(r.Context(), u.ID)
	absent(r.T, "the user", err)
	_, err = r.reader.GetUserByAccount(r.Context(), "google", "Id-"+r.word)
	absent(r.T, "its account", err)
	_, _, err = r.reader.GetSession(r.Context(), "last-"+r.word, "last-"+r.word)
	absent(r.T, "its session", err)
}
