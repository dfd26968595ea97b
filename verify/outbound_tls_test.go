package verify

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// outboundCert makes a certificate for a host. A nil signer makes it self-signed.
func outboundCert(host string, until time.Time, signer *tls.Certificate) tls.Certificate {
	key := oidcES256()
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true, IsCA: host == "ca"}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	parent, by := template, key
	if signer != nil {
		parent, by = signer.Leaf, signer.PrivateKey.(*ecdsa.PrivateKey)
	} else {
		key = oidcMade(ecdsa.GenerateKey(key.Curve, rand.Reader))
		by = key
	}
	der := oidcMade(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: oidcMade(x509.ParseCertificate(der))}
}

// outboundTLS serves an identity provider and returns its issuer.
func outboundTLS(t *T, c *tls.Config) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	issuer := "https://" + ln.Addr().String()
	op, err := idp.New(idp.Options{Issuer: issuer, Alg: "ES256", Clients: []idp.Client{{ID: "app", Secret: arena.ClientSecret}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: op, TLSConfig: c, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: patience}
	go s.ServeTLS(ln, "", "")
	t.Cleanup(func() { s.Close() })
	return issuer
}

// outbound05 runs the binary with its own certificate authority.
func outbound05(t *T) {
	later := time.Now().Add(24 * time.Hour)
	ca, other := outboundCert("ca", later, nil), outboundCert("ca", later, nil)
	by := func(host string, until time.Time, signer *tls.Certificate, change func(*tls.Config)) *tls.Config {
		c := &tls.Config{Certificates: []tls.Certificate{outboundCert(host, until, signer)}, MinVersion: tls.VersionTLS12}
		if change != nil {
			change(c)
		}
		return c
	}
	upTo := func(v uint16) func(*tls.Config) {
		return func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, v }
	}
	const here = "127.0.0.1"
	servers := map[string]struct {
		config *tls.Config
		good   bool
	}{
		"good": {by(here, later, &ca, nil), true}, "tls12": {by(here, later, &ca, upTo(tls.VersionTLS12)), true},
		"expired": {by(here, time.Now().Add(-time.Hour), &ca, nil), false}, "early": {by(here, time.Now().Add(72*time.Hour), &ca, nil), false},
		"otherhost": {by("id.test", later, &ca, nil), false}, "otherip": {by("127.0.0.2", later, &ca, nil), false},
		"selfsigned": {by(here, later, nil, nil), false}, "untrusted": {by(here, later, &other, nil), false},
		"tls11": {by(here, later, &ca, upTo(tls.VersionTLS11)), false}, "tls10": {by(here, later, &ca, upTo(tls.VersionTLS10)), false},
	}
	var yaml strings.Builder
	fmt.Fprintf(&yaml, "url: \"{origin}\"\nsecret: %s\nrate_limit: {enabled: false}\nproviders:\n", arena.Secret)
	for id, s := range servers {
		fmt.Fprintf(&yaml, "  - {id: %s, type: oidc, name: Example, issuer: %q, client_id: app, client_secret: %s}\n", id, outboundTLS(t, s.config), arena.ClientSecret)
	}
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"AUTHSVC_STORAGE_URL=memory:", "SSL_CERT_FILE=" + roots, "SSL_CERT_DIR=" + t.TempDir()}
	p := process.Serve(t, yaml.String(), env...)
	for id, s := range servers {
		a, err := browser.New(p.URL, nil).Post("/api/auth/signin/" + id)
		if err != nil {
			t.Fatal(err)
		}
		if in := strings.HasPrefix(a.Location(), "https://"+here) && !strings.Contains(a.Location(), "error="); in != s.good {
			t.Errorf("%s: %d %s", id, a.StatusCode, a.Location())
		}
		if !s.good && !strings.Contains(a.Location(), "error=OAuthSignin") {
			t.Errorf("%s: %d %s", id, a.StatusCode, a.Location())
		}
	}
	for _, line := range []string{"outbound: {insecure_skip_verify: true}", "outbound: {insecure: true}", "tls: {verify: false}", "allow_insecure_tls: true"} {
		q := process.Prepare(t, yaml.String()+line+"\n", env...)
		if out, code := q.Command("serve"); code == 0 || !strings.Contains(out, "is not known") {
			t.Errorf("%s: %d %s", line, code, out)
		}
	}
}
