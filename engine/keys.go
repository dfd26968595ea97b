package engine

import (
	"fmt"
	"strings"

	"authsvc"
	"authsvc/internal/seal"
)

func checkSecrets(b *builder, s *Service) {
	c := b.config
	const fix = "use at least 32 random bytes, in base64 for example"
	if len(c.Secrets) == 0 {
		b.fail("Secrets", "is missing", fix).Code = "weak_secret"
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
			b.fail(key, "is empty", fix).Code = "weak_secret"
		case short && s.site.dialect.shortSecrets && c.DangerousShortSecret:
			b.warn("a secret is shorter than 32 bytes; keep it only as a later entry of the list, to read existing cookies and data", "entry", i)
		case short && s.site.dialect.shortSecrets:
			b.fail(key, "has fewer than 32 bytes", fix+"; if this one must stay, also as a later entry, set DangerousShortSecret: true", "Compat", "DangerousShortSecret").Code = "short_secret"
		case short:
			b.fail(key, "has fewer than 32 bytes", fix, "Compat", "DangerousShortSecret").Code = "weak_secret"
		case distinct(secret) < 10 && s.site.dialect.shortSecrets && c.DangerousShortSecret:
			b.warn("a secret repeats few characters; put a new one in front of it, and keep it only as a later entry of the list, to read existing cookies and data", "entry", i)
		case distinct(secret) < 10 && s.site.dialect.shortSecrets:
			b.fail(key, "repeats few characters", fix+"; if this one must stay, also as a later entry, set DangerousShortSecret: true", "Compat", "DangerousShortSecret").Code = "short_secret"
		case distinct(secret) < 10:
			b.fail(key, "repeats few characters", fix).Code = "weak_secret"
		}
	}
}

// deriveKeys derives every key once. Each purpose has its own key, so that no value can
// stand in for another. The keys for browsers and mails are also bound to the URL of
// this deployment.
func (h *storeys) deriveKeys(c *authsvc.Config) {
	ring, err := seal.NewRing(c.Secrets...)
	if err != nil { // checkSecrets has refused such secrets
		panic(err)
	}
	h.fleet.DeriveKeys(ring)
	for _, p := range h.parts {
		if p.keys != nil {
			p.keys(ring)
		}
	}
	if h.site.dialect.hashSecrets != nil {
		h.mailing.hashSecrets = h.site.dialect.hashSecrets(c.Secrets)
		h.site.csrf = nextAuthCSRF{h.mailing.hashSecrets}
	} else {
		h.site.csrf = boundCSRF{ring.MAC("csrf " + h.site.base)}
		h.mailing.linkKeys = eachMAC(c.Secrets, "email link "+h.site.base)
	}
}

// eachMAC returns one MAC for each secret.
func eachMAC(secrets []string, purpose string) (list []*seal.MAC) {
	for _, secret := range secrets {
		ring, err := seal.NewRing(secret)
		if err != nil { // checkSecrets has refused such secrets
			panic(err)
		}
		list = append(list, ring.MAC(purpose))
	}
	return list
}
