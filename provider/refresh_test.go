package provider_test

import (
	"cmp"
	"errors"
	"net/http"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/provider"
)

// signedIn returns a person of the recording whose access token has just expired.
func signedIn(t *testing.T, e provider.Entry, rec *recording) *attempt {
	t.Helper()
	a := newAttempt(t, e, rec)
	a.start()
	if word := a.comeBack(nil); word != "" {
		t.Fatalf("%s\n%s", word, a.log)
	}
	a.later, a.refresh = true, a.account().RefreshToken
	if a.refresh == "" {
		t.Fatal("no refresh token came")
	}
	a.due()
	return a
}

// due makes the access token expire.
func (a *attempt) due() {
	a.t.Helper()
	stored, err := a.store.ListAccounts(a.t.Context(), a.userID)
	if err != nil || len(stored) != 1 {
		a.t.Fatalf("%v, %v", stored, err)
	}
	stored[0].ExpiresAt = time.Now().Add(-time.Hour).Unix()
	if err := a.store.RefreshAccount(a.t.Context(), stored[0], 0); err != nil {
		a.t.Fatal(err)
	}
}

func (a *attempt) account() authsvc.Account {
	a.t.Helper()
	list, err := a.service.Accounts(a.t.Context(), a.userID)
	if err != nil || len(list) != 1 {
		a.t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

// TestRefresh checks that a provider with its own way to refresh tokens receives the
// recorded requests, and that a new refresh token is used in the next request.
func TestRefresh(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		for name, rec := range recordings(t, e.ID) {
			if rec.Refresh == nil || rec.Want == nil {
				continue
			}
			t.Run(e.ID+"/"+name, func(t *testing.T) {
				t.Parallel()
				a := signedIn(t, e, rec)
				want, state := cmp.Or(rec.Refresh.Rotated, a.refresh), a.account().SessionState
				for round := 1; round <= 2; round++ {
					for range 2 { // the second time it is still valid
						got, err := a.service.AccessToken(t.Context(), a.userID, e.ID, nil)
						if err != nil || got != tokenGiven+"-renewed" {
							t.Fatalf("%q, %v\n%s", got, err, a.log)
						}
					}
					if kept := a.account(); kept.RefreshToken != want || kept.SessionState != state {
						t.Errorf("kept %+v", kept)
					}
					if a.called["refresh"] != round {
						t.Errorf("%d requests in %d rounds", a.called["refresh"], round)
					}
					a.due()
				}
				a.secretless()
			})
		}
	}
}

// TestRefreshRefusals checks that an answer that calls the refresh token spent disables
// it, and that any other failure leaves it unchanged.
func TestRefreshRefusals(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		rec := firstCase(t, e.ID)
		if rec.Refresh == nil {
			continue
		}
		list, spent := map[string]fault{}, map[string]bool{}
		for name, w := range brokenSteps("refresh") {
			list[name] = *w.fault
		}
		for name, r := range rec.Refresh.Refusals {
			list[name] = fault{step: "refresh", status: cmp.Or(r.Status, http.StatusOK), contentType: "application/json", body: string(r.Answer)}
			spent[name] = r.Spent
		}
		if len(spent) < 2 {
			t.Errorf("%s: no refusals are recorded", e.ID)
		}
		for name, f := range list {
			t.Run(e.ID+"/"+name, func(t *testing.T) {
				t.Parallel()
				a := signedIn(t, e, firstCase(t, e.ID))
				before := a.account().RefreshToken
				a.fail = &f
				_, err := a.service.AccessToken(t.Context(), a.userID, e.ID, nil)
				if err == nil || errors.Is(err, authsvc.ErrTokenRefused) != spent[name] || errors.Is(err, authsvc.ErrNoToken) {
					t.Errorf("spent %v: %v\n%s", spent[name], err, a.log)
				}
				if kept := a.account().RefreshToken == before; kept == spent[name] || (a.lost == 1) != spent[name] {
					t.Errorf("spent %v: kept %v, %d events", spent[name], kept, a.lost)
				}
				if a.service.AccessToken(t.Context(), a.userID, e.ID, nil); a.called["refresh"] != 1 {
					t.Errorf("asked %d times", a.called["refresh"])
				}
				a.secretless()
			})
		}
	}
}

// TestOwnRefresh checks that each provider that redeems codes its own way and issues
// refresh tokens can also refresh tokens, and has a recording of that.
func TestOwnRefresh(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		p, err := e.New(authsvc.Client{ID: clientID, Secret: clientSecret}, examples(e, false))
		if err != nil {
			t.Fatal(err)
		}
		o, ok := p.(*authsvc.OAuth)
		if !ok {
			continue
		}
		if rec := firstCase(t, e.ID); (o.Hooks.RefreshTokens != nil) != (rec.Refresh != nil) || (o.Hooks.RevokeToken != nil) != (rec.Revoke != nil) {
			t.Errorf("%s: the recording and the constructor disagree about refresh or revocation", e.ID)
		}
		// Their access tokens do not expire, or do not belong to the person.
		without := map[string]bool{"deezer": true, "lastfm": true, "shopify": true, "wecom": true}
		if o.Hooks.ExchangeCode != nil && o.Hooks.RefreshTokens == nil && !without[e.ID] {
			t.Errorf("%s: codes are redeemed its own way, tokens not refreshed", e.ID)
		}
	}
}

// TestRevoke checks that the tokens of a removed account are revoked where it signed
// in.
func TestRevoke(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		for name, rec := range recordings(t, e.ID) {
			if rec.Revoke == nil || rec.Want == nil {
				continue
			}
			t.Run(e.ID+"/"+name, func(t *testing.T) {
				t.Parallel()
				a := signedIn(t, e, rec)
				kept := a.account()
				if err := a.service.UnlinkAccount(t.Context(), a.userID, e.ID, kept.ProviderAccountID, &engine.UnlinkOptions{EvenLast: true}); err != nil {
					t.Fatal(err)
				}
				if err := a.service.Close(t.Context()); err != nil || a.called["revoke"] != 2 {
					t.Errorf("%d tokens were revoked, %v\n%s", a.called["revoke"], err, a.log)
				}
			})
		}
	}
}

// TestVKDevice checks that the refresh token of an account without the device of its
// sign-in is neither presented nor disabled.
func TestVKDevice(t *testing.T) {
	t.Parallel()
	a := signedIn(t, entry(t, "vk"), recordings(t, "vk")["user"])
	stored, err := a.store.ListAccounts(t.Context(), a.userID)
	if err != nil {
		t.Fatal(err)
	}
	stored[0].SessionState = ""
	if err := a.store.RefreshAccount(t.Context(), stored[0], 0); err != nil {
		t.Fatal(err)
	}
	if _, err := a.service.AccessToken(t.Context(), a.userID, "vk", nil); !errors.Is(err, authsvc.ErrNoToken) || a.called["refresh"] != 0 || a.lost != 0 {
		t.Errorf("%v, asked %d times", err, a.called["refresh"])
	}
}

// TestZohoCentre checks that the request goes to the data centre stored in the account
// if it is one of Zoho's, and to the client's own otherwise.
func TestZohoCentre(t *testing.T) {
	t.Parallel()
	for state, centre := range map[string]string{"eu": "https://accounts.zoho.eu", "": "https://accounts.zoho.com",
		"evil.example": "https://accounts.zoho.com", "../eu": "https://accounts.zoho.com"} {
		rec := recordings(t, "zoho")["user"]
		rec.Refresh.URL = centre + "/oauth/v2/token"
		a := signedIn(t, entry(t, "zoho"), rec)
		stored, err := a.store.ListAccounts(t.Context(), a.userID)
		if err != nil {
			t.Fatal(err)
		}
		stored[0].SessionState = state
		if err := a.store.RefreshAccount(t.Context(), stored[0], 0); err != nil {
			t.Fatal(err)
		}
		if _, err := a.service.AccessToken(t.Context(), a.userID, "zoho", nil); err != nil || a.called["refresh"] != 1 {
			t.Errorf("%q: %v, asked %d times\n%s", state, err, a.called["refresh"], a.log)
		}
	}
}
