package engine_test

import (
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
)

func TestMaxAgeIsChecked(t *testing.T) {
	t.Parallel()
	authTime := func(v any) idp.Fault {
		return idp.Fault{IDToken: func(c map[string]any) {
			switch v := v.(type) {
			case nil:
				delete(c, "auth_time")
			case time.Duration: // before the moment of the request
				c["auth_time"] = time.Now().Add(-v).Unix()
			default:
				c["auth_time"] = v
			}
		}}
	}
	ago := func(d time.Duration) any { return d }
	for name, tt := range map[string]struct {
		query, configured string
		fault             idp.Fault
		in                bool
	}{
		"not asked for, absent":     {"", "", authTime(nil), true},
		"not asked for, old":        {"", "", authTime(ago(time.Hour)), true},
		"asked for, new":            {"?max_age=300", "", idp.Fault{}, true},
		"asked for, absent":         {"?max_age=300", "", authTime(nil), false},
		"asked for, no number":      {"?max_age=300", "", authTime("now"), false},
		"asked for, too old":        {"?max_age=300", "", authTime(ago(7 * time.Minute)), false},
		"asked for, within leeway":  {"?max_age=300", "", authTime(ago(330 * time.Second)), true},
		"asked for, in the future":  {"?max_age=300", "", authTime(ago(-time.Hour)), false},
		"zero, new":                 {"?max_age=0", "", idp.Fault{}, true},
		"zero, old":                 {"?max_age=0", "", authTime(ago(2 * time.Minute)), false},
		"zero, absent":              {"?max_age=0", "", authTime(nil), false},
		"configured, old":           {"", "300", authTime(ago(7 * time.Minute)), false},
		"configured, new":           {"", "300", idp.Fault{}, true},
		"configured, not overruled": {"?max_age=86400", "300", authTime(ago(7 * time.Minute)), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, _, at := withIDP(t, func(_ *authsvc.Config, o *authsvc.OAuth) {
				if tt.configured != "" {
					o.AuthorizationParams = map[string]string{"max_age": tt.configured}
				}
			})
			op.SetFault(tt.fault)
			g := at("203.0.113.9:1")
			start := g.post("/api/auth/signin/op" + tt.query)
			back, err := op.Approve(start.Header.Get("Location"), "ada")
			if err != nil {
				t.Fatalf("%s: %v", start.Header.Get("Location"), err)
			}
			if r := g.get(back.URL()); r.in() != tt.in || !tt.in && !strings.Contains(r.Header.Get("Location"), "error=OAuthCallback") {
				t.Errorf("%d %s", r.StatusCode, r.Header.Get("Location"))
			}
		})
	}
}

func TestMaxAgeMustBeANumber(t *testing.T) {
	t.Parallel()
	_, _, at := withIDP(t, nil)
	for _, age := range []string{"-1", "1e3", "now", "99999999999"} {
		if r := at("203.0.113.9:1").post("/api/auth/signin/op?max_age=" + age); !strings.Contains(r.Header.Get("Location"), "error=OAuthSignin") {
			t.Errorf("%s: %s", age, r.Header.Get("Location"))
		}
	}
	_, err := engine.New(authsvc.Config{URL: guestOrigin, Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"},
		Providers: []authsvc.Provider{&authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: "https://op.test",
			Client: authsvc.Client{ID: "app", Secret: "s"}, AuthorizationParams: map[string]string{"max_age": "5m"}}}})
	if list := authsvc.ConfigErrors(err); len(list) != 1 || list[0].Field != "Providers[0].AuthorizationParams[max_age]" {
		t.Errorf("%v", err)
	}
}
