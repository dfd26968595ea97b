package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
)

// notifyLinked tells the user about the identity that this sign-in linked.
func (l *login) notifyLinked() {
	l.added = true
	a := &l.id.account
	l.desk.mailing.tell(l.rq, notice{what: "linked", user: l.user, name: l.rq.providerName(a.Provider), undo: &undoable{Provider: a.Provider, Account: a.ProviderAccountID}})
}

// notifyNewBrowser tells the user about a sign-in with a browser that is new to the
// account. It does nothing on the first sign-in, or if the mail about a linked identity
// already says so. A browser that keeps no cookies is new at each sign-in; it causes one
// mail an hour.
func (l *login) notifyNewBrowser() {
	ml := l.desk.mailing
	if ml.notices.by == nil || !ml.notices.newBrowser || l.created || l.added || l.knownBrowser() || !l.signedInBefore() {
		return
	}
	if _, first := l.rq.permit(ml.browserLimit, fmt.Sprint(l.user.ID, " ", l.user.SessionEpoch, " ")+seal.Digest(asks(l.rq).agent+" "+asks(l.rq).network)); first {
		ml.tell(l.rq, notice{what: "browser", user: l.user})
	}
}

// knownBrowser reports whether this browser is signed in as the user, or has been since
// all sessions of the user last ended at once.
func (l *login) knownBrowser() bool {
	return l.before != nil && l.before.UserID == l.user.ID || l.desk.knowsBrowser(l.rq, l.user)
}

// signedInBefore reports whether the user signed in before. A linked identity or a
// proved address shows that. Signing in with the application's credentials leaves
// neither, so signedInBefore then looks for other sessions.
func (l *login) signedInBefore() bool {
	switch {
	case l.foreign: // no address is stored
		return false
	case l.id.proof:
		return !l.firstProof
	case !l.id.stored || !l.user.EmailVerified.IsZero():
		return true
	}
	all, err := l.desk.Adapter.ListSessions(l.rq.ctx, l.user.ID)
	if err != nil {
		l.desk.Log.Error("cannot tell a user about a new browser", "user", l.user.ID, "request", l.rq.requestID(), "err", err)
	}
	return slices.ContainsFunc(all, func(r adapter.SessionRecord) bool { return l.record == nil || r.Digest != l.record.Digest })
}

// language returns the language of this sign-in, for notices and for other mail that no
// request of the person causes. "" means not known, or that no mail is sent.
func (l *login) language() string {
	by := l.desk.mailing.anyMailer()
	asked, accepted := l.rq.locales()
	if by == nil || asked == "" && accepted == "" {
		return ""
	}
	if language := by.language(asked, accepted); len(language) <= maxLocale {
		return language
	}
	return ""
}

// keepLanguage stores the language of a sign-in of an existing user if it has changed;
// create stores that of a new one. The browser does not wait for it.
func (l *login) keepLanguage() {
	s, userID, requestID, language := l.desk, l.user.ID, l.rq.requestID(), l.language()
	if l.foreign || l.created || language == "" || language == l.user.Locale {
		return
	}
	s.fleet.RunTask("keeping a language", func(life context.Context) {
		ctx, cancel := fleet.Detached(life, storeTimeout)
		defer cancel()
		err := s.Adapter.SetPerson(ctx, userID, adapter.PersonUpdate{Locale: &language}, nil)
		if err != nil && !errors.Is(err, adapter.ErrNotFound) { // ErrNotFound: deleted meanwhile
			s.Log.Warn("cannot store the language of a sign-in", "user", userID, "request", requestID, "err", err)
		}
	})
}
