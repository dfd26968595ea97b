package authsvc

import (
	"fmt"
	"strings"
	"time"

	"authsvc/internal/handover"
	"authsvc/internal/seal"
)

// keys are derived from Config.Secrets, one for each purpose.
type keys struct {
	state       *seal.MAC
	code        *seal.MAC   // of mailed codes
	links       []*seal.MAC // one a secret; none where hashSecrets are
	hashSecrets []string    // that NextAuth.js hashes CSRF tokens and links with
	transaction *seal.Sealer
	email       *seal.Sealer
	device      *seal.Sealer
	typed       *seal.Sealer
	fresh       *seal.Sealer
	mail        *seal.Sealer
	handOver    handover.Keys
	session     *seal.MAC // of what sessions are called in lists,
	account     *seal.MAC // and accounts
	credentials *seal.Box // of Credential.Data; see placeOf

	// Of versions that did not bind keys to the URL; accepted until oldEnd.
	oldCSRF  csrfTokens
	oldLinks []*seal.MAC
	oldEnd   time.Time
}

// minSecret is the least length of a secret, in bytes.
const minSecret = 32

func checkSecrets(b *builder, s *Service) {
	c := b.config
	const fix = "use at least 32 random bytes, in base64 for example"
	if len(c.Secrets) == 0 {
		b.fail("Secrets", "is missing", fix)
		return
	}
	for i, secret := range c.Secrets {
		key := "Secrets"
		if len(c.Secrets) > 1 {
			key = fmt.Sprintf("Secrets[%d]", i)
		}
		short := len(strings.TrimSpace(secret)) < minSecret
		switch {
		case strings.TrimSpace(secret) == "":
			b.fail(key, "is empty", fix)
		case short && s.dialect.shortSecrets && c.DangerousShortSecret:
			b.warn("a secret is shorter than 32 bytes; keep it only as a later entry of the list, to open what is out there", "entry", i)
		case short && s.dialect.shortSecrets:
			b.fail(key, "has fewer than 32 bytes", fix+" as the first entry, and keep this one as the second; if it must stay, set DangerousShortSecret: true", "Compat", "DangerousShortSecret")
		case short:
			b.fail(key, "has fewer than 32 bytes", fix, "Compat", "DangerousShortSecret")
		case distinct(secret) < 10:
			b.fail(key, "repeats few characters", fix)
		}
	}
}

func distinct(s string) int {
	seen := map[byte]bool{}
	for i := 0; i < len(s); i++ {
		seen[s[i]] = true
	}
	return len(seen)
}

// deriveKeys derives every key once. Each purpose has its own key, so that no
// value can stand in for another; those for browsers and mails are also bound
// to the URL of this deployment.
func (s *Service) deriveKeys(c *Config) {
	ring, err := seal.NewRing(c.Secrets...)
	if err != nil { // checkSecrets refused what NewRing refuses
		panic(err)
	}
	s.keys.state = ring.MAC("state " + s.base)
	s.keys.code = ring.MAC("email code " + s.base)
	s.keys.transaction, s.keys.email, s.keys.mail = ring.Sealer("transaction "+s.base), ring.Sealer("email requests "+s.base), ring.Sealer("mail")
	s.keys.device, s.keys.typed = ring.Sealer("known accounts "+s.base), ring.Sealer("typed "+s.base)
	s.keys.fresh = ring.Sealer("fresh " + s.base)
	s.keys.session, s.keys.account = ring.MAC("session handle"), ring.MAC("account handle")
	s.tokens.box = ring.Box("provider tokens")
	s.mails = newMailQueue(s)
	s.keys.credentials = ring.Box("credentials")
	s.prepareSigningKeys(ring)
	if s.dialect.hashSecrets != nil {
		s.keys.hashSecrets = s.dialect.hashSecrets(c.Secrets)
		s.csrf = nextAuthCSRF{s.keys.hashSecrets}
	} else {
		s.csrf, s.keys.oldCSRF = boundCSRF{ring.MAC("csrf " + s.base)}, boundCSRF{ring.MAC("csrf")}
		s.keys.links = eachMAC(c.Secrets, "email link "+s.base)
		s.keys.oldLinks = eachMAC(c.Secrets, "email link")
		s.keys.oldEnd = time.Now().Add(oldKeysLast)
	}
	s.keys.handOver = handover.Keys{Attempt: ring.Sealer("gate attempt " + s.base), Code: ring.Sealer("gate code " + s.base)}
	s.places.login.sessions = s.sessions
	s.places.entered = func(host string) enteredPlace {
		return s.sessions.enteredBy(ring.Sealer("gate " + s.base + " " + host))
	}
	if j, ok := s.sessions.(*jwtSessions); ok {
		j.seal = s.dialect.sessionSealer(ring, s.origin, s.names.session)
	}
}

// oldKeysLast is how long after its start a service reads CSRF tokens and links
// made under keys that were not yet bound to its URL: as long as a link lives.
const oldKeysLast = 24 * time.Hour

// oldKeys reports whether keys that are not bound to the URL are accepted.
func (s *Service) oldKeys(now time.Time) bool { return now.Before(s.keys.oldEnd) }

// eachMAC returns one MAC for each secret.
func eachMAC(secrets []string, purpose string) (list []*seal.MAC) {
	for _, secret := range secrets {
		ring, err := seal.NewRing(secret)
		if err != nil { // checkSecrets refused what NewRing refuses
			panic(err)
		}
		list = append(list, ring.MAC(purpose))
	}
	return list
}
