package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestDebugLog: at its most talkative the log holds no secret, no code, no
// state and no cookie; and nothing for operators is on the public port.
func TestDebugLog(t *testing.T) {
	t.Parallel()
	op, addr := startProvider(t), freeAddress(t)
	origin := "http://" + addr
	l := newProcess(t, t.TempDir(), addr, testConfig(origin, op, "log: {level: debug}"))
	l.start()
	person := newPerson(origin, op, nil)
	at, err := person.startSignIn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := person.finishSignIn(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if err := person.finishSignIn(t.Context(), at); err == nil {
		t.Error("a code was taken twice")
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{testSecret, "life-client-secret", u.Query().Get("code"), u.Query().Get("state")}
	base, err := url.Parse(person.base)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range person.client.Jar.Cookies(base) {
		if len(c.Value) > 20 { // one is the name of a provider
			secrets = append(secrets, c.Value)
		}
	}
	for _, secret := range secrets {
		if len(secret) < 8 {
			t.Errorf("%q is no secret", secret)
		} else if strings.Contains(l.out.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/vars", "/api/auth/metrics", "/api/auth/debug"} {
		if code, _ := getStatus(t, origin+path); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	l.terminate()
}
