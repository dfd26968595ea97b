// Package scale fills stores with as many users as a large site has. Its tests
// measure the stores.
package scale

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/seal"
)

// A Population describes the contents of a store. The same population always has the
// same rows, so that a test can present the cookies of a store filled earlier.
type Population struct {
	Seed     uint64
	Users    int
	Accounts int // for each user
	Sessions int // for each user, not expired
	// Ended is the number of additional, expired sessions. There are also Ended/4
	// expired link tokens, as many expired used keys and as many expired permits.
	Ended int
	// Now is the time of the store's state. Live sessions began in the 60 days before
	// Now and were extended in the last 12 hours, so that reading one writes nothing
	// for 12 hours.
	Now time.Time
}

const (
	day = 24 * time.Hour
	// history is the age of the oldest live session. It must be less than a session's
	// maximum lifetime.
	history = 60 * day
	// maxAge is the default of authsvc.SessionOptions.
	maxAge = 30 * day
	// stride spreads a user's sessions over the history. It is a prime larger than
	// any number of users used here.
	stride = 1_000_000_007
)

// live returns the number of sessions that have not expired. They come first.
func (p *Population) live() int { return p.Users * p.Sessions }

// Cookie returns the value of the session cookie of session i.
func (p *Population) Cookie(i int) string { return seal.Digest(p.key("session", i)) }

// key returns the random part of a record.
func (p *Population) key(kind string, i int) string {
	return fmt.Sprintf("%s %d of population %d", kind, i, p.Seed)
}

// since returns the creation time of record i of n, spread evenly over ago.
func (p *Population) since(ago time.Duration, i, n int) time.Time {
	return p.Now.Add(-ago + time.Duration(float64(ago)*float64(i)/float64(n)))
}

// id returns a UUIDv7 (RFC 9562 §5.7) as the engine makes them.
func (p *Population) id(kind byte, i int, at time.Time) string {
	var u [16]byte
	r := rand.NewPCG(p.Seed<<8|uint64(kind), uint64(i))
	binary.BigEndian.PutUint64(u[:8], uint64(at.UnixMilli())<<16|r.Uint64()&0xffff)
	binary.BigEndian.PutUint64(u[8:], r.Uint64())
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func (p *Population) userID(i int) string { return p.id('u', i, p.since(365*day, i, p.Users)) }

func (p *Population) user(i int) authsvc.User {
	u := authsvc.User{
		ID: p.userID(i), Name: fmt.Sprintf("Person %07d", i), Email: fmt.Sprintf("person%07d@mail.example", i),
		Image: fmt.Sprintf("https://images.example/avatars/%07d.png", i),
	}
	if i%2 == 0 {
		u.EmailVerified = p.since(365*day, i, p.Users)
	}
	return u
}

func (p *Population) account(i int) authsvc.Account {
	owner, n := i/p.Accounts, i%p.Accounts
	at := p.since(365*day, owner, p.Users)
	return authsvc.Account{
		ID: p.id('a', i, at), UserID: p.userID(owner), Type: "oauth", Provider: fmt.Sprintf("provider%d", n),
		ProviderAccountID: fmt.Sprint(10_000_000 + owner), AccessToken: seal.Digest(p.key("access", i)),
		ExpiresAt: at.Add(time.Hour).Unix(), TokenType: "bearer", Scope: "openid email profile",
	}
}

// owner returns the index of the user of session i.
func (p *Population) owner(i int) int { return i % p.Users * stride % p.Users }

// session returns session i. Live sessions come first, in the order in which they
// began, then expired ones, in the order in which they expired.
func (p *Population) session(i int) adapter.SessionRecord {
	began, extended := p.since(history, i, p.live()), p.since(day/2, i*7919%max(p.live(), 1), p.live())
	if n := i - p.live(); n >= 0 {
		began = p.since(history, n, p.Ended).Add(-history)
		extended = p.Now.Add(-maxAge - time.Hour).Add(time.Duration(n) * time.Millisecond)
	}
	if extended.Before(began) {
		extended = began
	}
	digest := seal.Digest(p.Cookie(i))
	return adapter.SessionRecord{
		ID: p.id('s', i, began), SessionToken: "sha256:" + digest, Digest: digest, UserID: p.userID(p.owner(i)),
		Expires: extended.Add(maxAge), Began: began, Provider: fmt.Sprintf("provider%d", i%max(p.Accounts, 1)),
	}
}
