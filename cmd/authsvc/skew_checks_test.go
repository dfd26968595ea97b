//go:build full

package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"authsvc/adapter"
	"authsvc/internal/dev/idp"
)

// checkWarnings: a replica whose clock is off logs that, and by how much.
func (f *skewedReplicas) checkWarnings() {
	f.Helper()
	warning := regexp.MustCompile(`level=WARN msg="the clock of this machine[^\n]* store_ahead=(\S+)`)
	for i, l := range f.replicas {
		m := warning.FindStringSubmatch(l.out.String())
		if skews[i] == 0 {
			if m != nil {
				f.Errorf("a clock that is right: %s", m[0])
			}
			continue
		}
		if m == nil {
			f.Errorf("not a word about a clock at %v\n%s", skews[i], l.out)
			continue
		}
		if ahead, err := time.ParseDuration(m[1]); err != nil || (ahead+skews[i]).Abs() > time.Second {
			f.Errorf("a clock at %v: store_ahead=%s, %v", skews[i], m[1], err)
		}
	}
}

// checkSharedSessions: a session is valid at every replica, wherever it began.
func (f *skewedReplicas) checkSharedSessions() {
	f.Helper()
	for i := range f.replicas {
		p := f.addPerson(true)
		f.signIn(i, p).mustBeSignedIn(p.Email, fmt.Sprintf("a session of %v", skews[i]))
	}
}

// checkRevocation: a revocation at one replica ends earlier sessions of another
// replica, but no later ones.
func (f *skewedReplicas) checkRevocation(from, by int) {
	f.Helper()
	for name, end := range map[string]func(p idp.Person){
		"the provider's logout": func(p idp.Person) { f.backchannelLogout(by, p) },
		"EndSessions": func(p idp.Person) {
			u, err := f.store.GetUserByEmail(f.Context(), p.Email)
			if err == nil {
				err = f.embedded.EndSessions(f.Context(), u.ID)
			}
			if err != nil {
				f.Error(err)
			}
		},
	} {
		what := fmt.Sprintf("%s, of sessions of %v", name, skews[from])
		p := f.addPerson(true)
		before := f.signIn(from, p)
		before.mustBeSignedIn(p.Email, what)
		end(p)
		after := []*skewGuest{f.signIn(by, p), f.signIn(from, p)}
		before.mustBeSignedOut(what)
		for _, g := range after {
			g.mustBeSignedIn(p.Email, what+", afterwards")
		}
	}
}

// backchannelLogout sends a replica the provider's logout token.
func (f *skewedReplicas) backchannelLogout(at int, p idp.Person) {
	f.Helper()
	token, err := f.op.LogoutToken("app", p.Sub)
	if err != nil {
		f.Fatal(err)
	}
	a, err := f.newGuest(at).Post("/api/auth/backchannel-logout/op", "logout_token", token)
	if err != nil || a.StatusCode != http.StatusOK {
		f.Errorf("logout at %v: %+v, %v", skews[at], a, err)
	}
}

// checkFirstProof: a first proof at one replica ends the session of the user who
// registered the address at another replica, and the user's sign-in in progress there.
func (f *skewedReplicas) checkFirstProof(from, by int) {
	f.Helper()
	what := fmt.Sprintf("a first proof at %v", skews[by])
	p := f.addPerson(false)
	squatter := f.signIn(from, p)
	squatter.mustBeSignedIn(p.Email, what)
	late := f.newGuest(from)
	a, err := late.Post("/api/auth/signin/op")
	if err != nil {
		f.Fatal(err)
	}
	back, err := f.op.Approve(a.Location(), p.Sub)
	if err != nil {
		f.Fatal(err)
	}
	owner := f.newGuest(by)
	if a, err := owner.Get(owner.link(p.Email)); err != nil || a.StatusCode != http.StatusOK { // a page lists what was removed
		f.Errorf("%s: %v %v", what, a, err)
	}
	if a, err := late.Get(back.URL()); err != nil || !strings.Contains(a.Location(), "error=OAuthAccountNotLinked") {
		f.Errorf("%s: an earlier sign-in: %v %v", what, a, err)
	}
	late.mustBeSignedOut(what)
	squatter.mustBeSignedOut(what)
	owner.mustBeSignedIn(p.Email, what)
}

// checkLinks: a link that was requested at one replica is valid at every other.
func (f *skewedReplicas) checkLinks() {
	f.Helper()
	for i := range f.replicas {
		for j := range f.replicas {
			address := fmt.Sprintf("link%d%d@people.test", i, j)
			g := f.newGuest(i)
			link := g.link(address)
			if err := g.at(j).Open(link); err != nil {
				f.Errorf("a link of %v at %v: %v", skews[i], skews[j], err)
			}
			g.mustBeSignedIn(address, fmt.Sprintf("by a link of %v", skews[i]))
		}
	}
}

// checkExpiry: the sweep of the fast replica keeps unexpired records, and sessions
// expire at the same time everywhere. Meanwhile, rate limits are checked.
func (f *skewedReplicas) checkExpiry() {
	f.Helper()
	time.Sleep(time.Until(f.startedAt.Add(firstSweep - skewMaxAge + 5*time.Second))) // by its own clock, the fast replica would find all of them expired at its sweep
	type old struct {
		*skewGuest
		cookies         []*http.Cookie
		address, link   string
		earliest, until time.Time // of the end of the session
	}
	var all []old
	for i := range f.replicas {
		p := f.addPerson(true)
		o := old{address: p.Email, earliest: time.Now().Add(skewMaxAge)}
		g := f.signIn(i, p)
		o.until, o.cookies = time.Now().Add(skewMaxAge), g.cookies()
		o.skewGuest = f.newGuest(i)
		o.link = o.skewGuest.link(fmt.Sprintf("old%d@people.test", i))
		all = append(all, o)
	}
	f.checkRateLimit(fast, slow)
	f.checkRateLimit(slow, fast)
	f.waitForSweep()
	for i, o := range all {
		if err := o.at((i + 1) % len(f.replicas)).Open(o.link); err != nil {
			f.Errorf("a link of %v after the sweep: %v", skews[i], err)
		}
	}
	for i, o := range all {
		for j := range f.replicas {
			for f.signedInAs(j, o.cookies) != "" && time.Now().Before(o.until.Add(expiryTolerance)) {
				time.Sleep(20 * time.Millisecond)
			}
			if now := time.Now(); now.Before(o.earliest.Add(-expiryTolerance)) || f.signedInAs(j, o.cookies) != "" {
				f.Errorf("a session of %v ends at %v %v late", skews[i], skews[j], now.Sub(o.until).Round(time.Millisecond))
			}
		}
	}
}

// waitForSweep waits until a record that expired long ago is gone.
func (f *skewedReplicas) waitForSweep() {
	f.Helper()
	expired := func() error { return f.store.UseOnce(f.Context(), "expired", time.Now().Add(-time.Hour)) }
	if err := expired(); err != nil {
		f.Fatal(err)
	}
	var err error
	for deadline := f.startedAt.Add(firstSweep + 15*time.Second); ; time.Sleep(100 * time.Millisecond) {
		if err = expired(); err == nil {
			f.Logf("swept after %v", time.Since(f.startedAt).Round(time.Second))
			return
		}
		if !errors.Is(err, adapter.ErrConflict) || time.Now().After(deadline) {
			f.Fatalf("no replica sweeps: %v", err)
		}
	}
}

// checkRateLimit: a limit that was used up at one replica is used up at another, where
// Retry-After is at most one interval.
func (f *skewedReplicas) checkRateLimit(from, at int) {
	f.Helper()
	const interval = time.Minute / skewLimit
	try := func(at int) (passed bool, wait time.Duration) {
		a, err := f.newGuest(at).Post("/api/auth/signin/op")
		if err != nil {
			f.Fatal(err)
		}
		if a.StatusCode != http.StatusTooManyRequests {
			return true, 0
		}
		seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if err != nil {
			f.Error(err)
		}
		return false, time.Duration(seconds) * time.Second
	}
	var begun time.Time
	for n := 0; ; n++ {
		begun = time.Now()
		if passed, _ := try(from); !passed {
			break
		}
		if n > 4*skewLimit {
			f.Fatal("there is no limit")
		}
	}
	passes, waits := 0, make([]time.Duration, 5)
	for i := range waits {
		passed := false
		if passed, waits[i] = try(at); passed {
			passes++
		}
		if waits[i] > interval+time.Second { // whole seconds
			f.Errorf("used up at %v, it is %v at %v", skews[from], waits[i], skews[at])
		}
	}
	if most := int(time.Since(begun)/interval) + 1; passes > most {
		f.Errorf("used up at %v, %d pass at %v", skews[from], passes, skews[at])
	}
	for deadline := time.Now().Add(3 * interval); ; time.Sleep(interval / 10) {
		if passed, wait := try(at); passed {
			return
		} else if time.Now().After(deadline) {
			f.Errorf("used up at %v, no request passes at %v: %v", skews[from], skews[at], wait)
			return
		}
	}
}
