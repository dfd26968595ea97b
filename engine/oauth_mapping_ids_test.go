package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/test/browser"
)

// unusableIDs would make one person of many, or are not text for stores.
var unusableIDs = map[string]string{"blank": "   ", "tab": "\t", "other space": "\u00a0\u2003", "invisible": "\u200b\ufeff", "NUL": "a\x00", "line break": "a\nb"}

// TestUnusableIDs checks that a person whose id at the provider is blank or not text
// does not get in, and that the provider is blamed, not the store.
func TestUnusableIDs(t *testing.T) {
	t.Parallel()
	for name, id := range unusableIDs {
		t.Run("OAuth, "+name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(map[string]string{"id": id, "name": "Ada"})
			if err != nil {
				t.Fatal(err)
			}
			w := startOdd(t, newOdd(map[string]string{"api.odd.test/me": string(raw)}), nil)
			b := w.Browser()
			a := signInOdd(w, b)
			if !strings.Contains(a.Location(), "error=OAuthCallback") || b.Session()["user"] != nil || !strings.Contains(w.Logs.String(), "the profile has no usable id") {
				t.Errorf("%d %s, %v", a.StatusCode, a.Location(), b.Session())
			}
			if all, err := w.Store.ListUsers(t.Context(), "", 10); err != nil || len(all) != 0 {
				t.Errorf("%v are stored, %v", all, err)
			}
		})
		t.Run("OAuth 1, "+name, func(t *testing.T) {
			t.Parallel()
			w := enterOAuth1(t, func(o *authsvc.OAuth1) {
				o.UserInfo = func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) {
					return authsvc.Profile{"id": id}, nil
				}
				o.Fields = authsvc.Fields{ID: "id"}
			})
			b := w.Browser()
			back := b.Approve(w.OP, b.Begin("old"), "grace")
			if a := w.MustRefuse(t, func() *browser.Answer { return b.Get(back) }); !strings.Contains(a.Location(), "error=OAuthCallback") {
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
		})
		t.Run("credentials, "+name, func(t *testing.T) {
			t.Parallel()
			_, at := guests(t, func(c *authsvc.Config) {
				c.Session.Strategy, c.Adapter = "jwt", memory.New()
				c.Providers = []authsvc.Provider{&authsvc.Credentials{Authorize: func(_ context.Context, f map[string]string) (authsvc.User, error) {
					if f["password"] != "right" {
						return authsvc.User{}, errors.New("no")
					}
					return authsvc.User{ID: f["username"] + id}, nil
				}}}
			})
			if r := at("203.0.113.9:1").login("", "right"); r.in() || !strings.Contains(r.Header.Get("Location"), "CredentialsSignin") {
				t.Errorf("%d %s", r.StatusCode, r.Header.Get("Location"))
			}
			if r := at("203.0.113.9:1").login("ada", "right"); r.in() == strings.ContainsAny(id, "\x00\n\t") {
				t.Errorf("twin, an id that has more than that: %d %s", r.StatusCode, r.Header.Get("Location"))
			}
		})
	}
}
