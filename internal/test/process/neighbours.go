package process

import (
	"fmt"
	"testing"

	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/arena"
)

// Neighbours holds the servers that a service process talks to.
type Neighbours struct {
	OP  *idp.Server
	Box *mailbox.Server
}

// NewNeighbours starts an identity provider and a mail server; both end with t. The
// provider's client "app" has [arena.ClientSecret] and these redirect URIs, by
// default those of all loopback hosts.
func NewNeighbours(t testing.TB, redirectURIs ...string) *Neighbours {
	t.Helper()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: arena.ClientSecret, RedirectURIs: redirectURIs}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	box, err := mailbox.Listen(mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return &Neighbours{op, box}
}

// YAML returns a configuration for [Serve] with the provider "op", email, no rate
// limits, and the lines of more.
func (n *Neighbours) YAML(more string) string {
	return fmt.Sprintf(`url: "{origin}"
secret: %s
rate_limit: {enabled: false}
providers:
  - {id: op, type: oidc, name: Example, issuer: %q, client_id: app, client_secret: %s}
  - {id: email, type: email, server: "smtp://%s", from: "Acme <no-reply@app.test>"}
outbound: {allow_networks: ["127.0.0.0/8"]}
%s`, arena.Secret, n.OP.Issuer(), arena.ClientSecret, n.Box.Addr(), more)
}
