package mongodb

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// A step is a method that sends several commands. Whichever command fails, the store is
// in the state before or after the step, and retrying succeeds.
type step struct {
	prepare func(t *testing.T, s shared, id string)
	run     func(t *testing.T, s shared, id string) error
	judge   func(t *testing.T, s shared, id string, err error)
}

func steps() map[string]step {
	return map[string]step{
		"EndSessions":   {unprovedUser, tryEndSessions, judgeEndSessions},
		"UnlinkAccount": {unprovedUser, tryUnlink, judgeUnlink},
		"SignUp":        {noSetup, trySignUp, judgeSignUp},
		"ProveEmail":    {unprovedUser, tryProveEmail, judgeProveEmail},
		"DeleteUser":    {unprovedUser, tryDeleteUser, judgeDeleteUser},
		"LinkAccount":   {bareUser, tryLinkAccount, judgeLinkAccount},
		"CreateSession": {bareUser, tryCreateSession, judgeCreateSession},
		"PutToken":      {noSetup, tryPutToken, judgePutToken},
	}
}

func TestEveryCommandFailing(t *testing.T) {
	t.Parallel()
	server(t)
	for _, mode := range []struct {
		name string
		how  int
		dead bool
	}{
		{"refused", answerBefore, false}, {"answer lost", answerAfter, false},
		{"connection broken before", cutBefore, false}, {"connection broken after", cutAfter, false},
		{"killed before", answerBefore, true}, {"killed after", answerAfter, true},
		{"late", answerLate, false}, {"killed, and late", answerLate, true},
	} {
		for name, step := range steps() {
			if (mode.how == cutBefore || mode.how == cutAfter) && (name == "ProveEmail" || name == "PutToken") {
				continue // consists of other steps' commands; the driver waits half a second after each break
			}
			t.Run(name+"/"+mode.name, func(t *testing.T) {
				t.Parallel()
				parallelStores <- struct{}{}
				defer func() { <-parallelStores }()
				s := newShared(t, Options{})
				if _, err := s.GetUser(t.Context(), "u-none"); !errors.Is(err, adapter.ErrNotFound) {
					t.Fatal(err)
				}
				n := 1
				for ; ; n++ {
					id := fmt.Sprint("n", n)
					step.prepare(t, s, id)
					s.proxy.failNth(n, mode.how, mode.dead)
					err := step.run(t, s, id)
					commands := s.proxy.commands()
					s.proxy.failNth(0, 0, false)
					s.proxy.arrive()
					s.now = func() time.Time { return time.Now().Add(time.Hour) }
					judge := step.judge
					if late := lateJudges()[name]; mode.how == answerLate && late != nil {
						judge = late
					}
					judge(t, s, id, err)
					s.now = time.Now
					if t.Failed() {
						t.Fatalf("command %d of %v: %v", n, commands, err)
					}
					if len(commands) < n {
						break
					}
				}
				if n < 3 {
					t.Errorf("only %d commands", n-1)
				}
			})
		}
	}
}

// lateJudges returns the judges of steps that may leave records without effect: a
// session whose token no client knows, or a mail with a link that leads nowhere.
func lateJudges() map[string]func(t *testing.T, s shared, id string, err error) {
	return map[string]func(t *testing.T, s shared, id string, err error){
		"CreateSession": func(t *testing.T, s shared, id string, _ error) {
			u, err := s.GetUserByEmail(t.Context(), email(id))
			rec := testSession("again " + id) // every attempt has its own token
			rec.UserID, rec.Epoch = u.ID, u.Epoch
			if err == nil {
				_, err = s.CreateSession(t.Context(), rec)
			}
			if err != nil || !s.signedIn(t, "again "+id) {
				t.Errorf("the next try: %v", err)
			}
		},
		"PutToken": func(t *testing.T, s shared, id string, _ error) {
			if err := tryPutToken(t, s, "again "+id); err != nil || !exists[document](t)(s.first(t.Context(), s.mails(), by("_id", "link again "+id))) {
				t.Errorf("the next try: %v", err)
			}
		},
	}
}

func email(id string) string { return id + "@example.com" }

func testAccount(id string) adapter.Account {
	return adapter.Account{Type: "oauth", Provider: "p", ProviderAccountID: id}
}

func testSession(id string) adapter.SessionRecord {
	return adapter.SessionRecord{SessionToken: "token " + id, Digest: "digest " + id, Expires: time.Now().Add(time.Hour), Began: time.Now()}
}

func noSetup(*testing.T, shared, string) {}

func unprovedUser(t *testing.T, s shared, id string) {
	t.Helper()
	if err := trySignUp(t, s, id); err != nil {
		t.Fatal(err)
	}
	if err := tryPutToken(t, s, id); err != nil {
		t.Fatal(err)
	}
}

func bareUser(t *testing.T, s shared, id string) {
	t.Helper()
	if _, err := s.CreateUser(t.Context(), adapter.User{Email: email(id)}, nil); err != nil {
		t.Fatal(err)
	}
}

// exists reports whether err is nil. It fails the test on errors other than
// ErrNotFound.
func exists[T any](t *testing.T) func(T, error) bool {
	return func(_ T, err error) bool {
		t.Helper()
		if err != nil && !errors.Is(err, adapter.ErrNotFound) {
			t.Error(err)
		}
		return err == nil
	}
}

func (s shared) linked(t *testing.T, id string) bool {
	t.Helper()
	return exists[adapter.User](t)(s.GetUserByAccount(t.Context(), "p", id))
}

func (s shared) userExists(t *testing.T, id string) bool {
	t.Helper()
	return exists[adapter.User](t)(s.GetUserByEmail(t.Context(), email(id)))
}

func (s shared) signedIn(t *testing.T, id string) bool {
	t.Helper()
	rec, _, err := s.GetSession(t.Context(), "token "+id, "digest "+id)
	if err == nil && rec.Began.IsZero() {
		t.Error("the session lacks authsvc's own record")
	}
	return exists[int](t)(0, err)
}

func (s shared) userID(t *testing.T, id string) string {
	t.Helper()
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

// persons returns the stored persons by user id.
func (s shared) persons(t *testing.T) map[string]adapter.Person {
	t.Helper()
	found, err := s.list(t.Context(), s.people(), bson.D{}, options.Find())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]adapter.Person{}
	for _, d := range found {
		all[d.text("_id")] = d.person()
	}
	return all
}

// checkPersons checks that no person remains without its user.
func (s shared) checkPersons(t *testing.T) {
	t.Helper()
	for person := range s.persons(t) {
		if !exists[adapter.User](t)(s.GetUser(t.Context(), person)) {
			t.Errorf("a person remains without the user %s", person)
		}
	}
}

func trySignUp(t *testing.T, s shared, id string) error {
	acc, rec := testAccount(id), testSession(id)
	_, err := s.SignUp(t.Context(), adapter.User{Email: email(id)}, &acc, &rec, "de", nil)
	return err
}

func judgeSignUp(t *testing.T, s shared, id string, err error) {
	known, linked, signedIn := s.userExists(t, id), s.linked(t, id), s.signedIn(t, id)
	if known != linked || known != signedIn || err == nil && !known {
		t.Errorf("user %v, account %v, session %v", known, linked, signedIn)
	}
	if known {
		return
	}
	s.checkPersons(t)
	acc, rec := testAccount(id), testSession("again "+id) // every attempt has its own token
	_, err = s.SignUp(t.Context(), adapter.User{Email: email(id)}, &acc, &rec, "", nil)
	if err != nil || !s.userExists(t, id) || !s.linked(t, id) || !s.signedIn(t, "again "+id) {
		t.Errorf("the next try: %v", err)
	}
}

func tryProveEmail(t *testing.T, s shared, id string) error {
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil {
		return err
	}
	return proveAs(t, s, id, endSessionsOf(u.ID))
}

// proveAs proves the address of a user, and retries if the proof is stale.
func proveAs(t *testing.T, s shared, id string, r *adapter.Revocation) error {
	for {
		u, err := s.GetUser(t.Context(), r.UserID)
		if err != nil {
			return err
		}
		_, _, err = s.ProveEmail(t.Context(), adapter.Proof{UserID: u.ID, Email: email(id), Epoch: u.Epoch, At: time.Now(), Revoke: r})
		if !errors.Is(err, adapter.ErrStale) {
			return err
		}
	}
}

// endSessionsOf returns a revocation of all sessions of a user.
func endSessionsOf(userID string) *adapter.Revocation {
	return &adapter.Revocation{Key: sessionsKey + userID, UserID: userID, NotBefore: time.Now(), Expires: time.Now().Add(time.Hour)}
}

func judgeProveEmail(t *testing.T, s shared, id string, err error) {
	u, lookErr := s.GetUserByEmail(t.Context(), email(id))
	if lookErr != nil {
		t.Fatal(lookErr)
	}
	if err == nil && u.EmailVerified.IsZero() {
		t.Error("not proved")
	}
	if u.EmailVerified.IsZero() {
		if err := tryProveEmail(t, s, id); err != nil {
			t.Errorf("the next try: %v", err)
		}
	}
	if s.linked(t, id) || s.signedIn(t, id) || exists[adapter.VerificationToken](t)(s.GetToken(t.Context(), email(id), "link "+id)) {
		t.Error("something from before the proof is left")
	}
	if !exists[document](t)(s.first(t.Context(), s.revocations(), by("_id", sessionsKey+u.ID))) {
		t.Error("no revocation")
	}
}

func tryDeleteUser(t *testing.T, s shared, id string) error {
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil {
		return err
	}
	return s.DeleteUser(t.Context(), u.ID, endSessionsOf(u.ID))
}

// judgeDeleteUser accepts that, after an error, the sessions have ended although the
// user still exists.
func judgeDeleteUser(t *testing.T, s shared, id string, err error) {
	known, linked, signedIn := s.userExists(t, id), s.linked(t, id), s.signedIn(t, id)
	if known != linked || signedIn && !known || err == nil && known {
		t.Errorf("user %v, account %v, session %v", known, linked, signedIn)
	}
	if known {
		user := s.userID(t, id)
		if err := s.DeleteUser(t.Context(), user, endSessionsOf(user)); err != nil {
			t.Errorf("the next try: %v", err)
		}
	}
	acc := testAccount(id) // another user can have the account now
	if _, err := s.SignUp(t.Context(), adapter.User{Email: email(id)}, &acc, nil, "", nil); err != nil {
		t.Errorf("the next person: %v", err)
	}
}

func tryEndSessions(t *testing.T, s shared, id string) error {
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil {
		return err
	}
	_, err = s.EndSessions(t.Context(), u.ID, endSessionsOf(u.ID))
	return err
}

func judgeEndSessions(t *testing.T, s shared, id string, err error) {
	if err == nil && s.signedIn(t, id) {
		t.Error("signed in")
	}
	if err := tryEndSessions(t, s, id); err != nil || s.signedIn(t, id) {
		t.Errorf("the next try: %v", err)
	}
	if !s.linked(t, id) {
		t.Error("the account is gone")
	}
	if err := tryCreateSession(t, s, id); err != nil || !s.signedIn(t, id) {
		t.Errorf("the next session: %v", err)
	}
}

func tryUnlink(t *testing.T, s shared, id string) error {
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil {
		return err
	}
	r := endSessionsOf(u.ID)
	r.Key = "account:" + u.ID
	return s.UnlinkAccount(t.Context(), "p", id, u.Epoch, r)
}

func judgeUnlink(t *testing.T, s shared, id string, err error) {
	if err == nil && s.linked(t, id) {
		t.Error("linked")
	}
	if err := ignore(adapter.ErrNotFound, tryUnlink(t, s, id)); err != nil || s.linked(t, id) {
		t.Errorf("the next try: %v", err)
	}
	half := by("_id", "account:"+s.userID(t, id), bson.E{Key: "pending", Value: bson.D{{Key: "$exists", Value: true}}})
	if exists[document](t)(s.first(t.Context(), s.revocations(), half)) {
		t.Error("the retry does not add the second number: a sign-in by the account could still succeed")
	}
	if !s.signedIn(t, id) {
		t.Error("the session is gone")
	}
}

func tryLinkAccount(t *testing.T, s shared, id string) error {
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil {
		return err
	}
	acc := testAccount(id)
	acc.UserID = u.ID
	_, err = s.LinkAccount(t.Context(), acc, u.Epoch)
	return err
}

func judgeLinkAccount(t *testing.T, s shared, id string, err error) {
	linked := s.linked(t, id)
	if err == nil && !linked {
		t.Error("not linked")
	}
	if !linked {
		if err := tryLinkAccount(t, s, id); err != nil || !s.linked(t, id) {
			t.Errorf("the next try: %v", err)
		}
	}
}

func tryCreateSession(t *testing.T, s shared, id string) error {
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil {
		return err
	}
	rec := testSession(id)
	rec.UserID, rec.Epoch = u.ID, u.Epoch
	_, err = s.CreateSession(t.Context(), rec)
	return err
}

func judgeCreateSession(t *testing.T, s shared, id string, err error) {
	signedIn := s.signedIn(t, id)
	if err == nil && !signedIn {
		t.Error("no session")
	}
	if !signedIn {
		if err := tryCreateSession(t, s, id); err != nil || !s.signedIn(t, id) {
			t.Errorf("the next try: %v", err)
		}
	}
}

func tryPutToken(t *testing.T, s shared, id string) error {
	return s.PutToken(t.Context(), adapter.VerificationToken{Identifier: email(id), Token: "link " + id, Expires: time.Now()},
		adapter.Mail{ID: "link " + id, Due: time.Now(), Expires: time.Now()}, 1000)
}

// judgePutToken refuses a mail without its token: it would be sent in vain.
func judgePutToken(t *testing.T, s shared, id string, err error) {
	token := exists[document](t)(s.first(t.Context(), s.links(), by("token", "link "+id)))
	mail := exists[document](t)(s.first(t.Context(), s.mails(), by("_id", "link "+id)))
	if mail && !token || err == nil && !mail {
		t.Errorf("token %v, mail %v", token, mail)
	}
}
