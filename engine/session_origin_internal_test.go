package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/seal"
)

// An originWorld is a service with sessions that no feature begins yet.
type originWorld struct {
	*Service
	t    *testing.T
	user authsvc.User
}

func newOriginWorld(t *testing.T, strategy authsvc.Strategy) *originWorld {
	t.Helper()
	store := memory.New()
	s, err := New(authsvc.Config{URL: "https://app.test", Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, Adapter: store, Logger: slog.New(slog.DiscardHandler),
		Session: authsvc.SessionOptions{Strategy: strategy, UpdateAge: -1},
		Tokens:  authsvc.TokenOptions{Audiences: []authsvc.Audience{{ID: "api"}}},
		Gate:    authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: "https://wiki.test"}}},
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: func(context.Context, map[string]string) (authsvc.User, error) {
			return authsvc.User{}, authsvc.ErrAccessDenied
		}}},
		Callbacks: authsvc.Callbacks{Session: func(_ context.Context, p authsvc.SessionParams) (map[string]any, error) {
			return map[string]any{"second": p.SecondAt.UnixMilli(), "actor": p.Actor}, nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	u, err := store.CreateUser(t.Context(), authsvc.User{ID: "ada-id", Email: "ada@app.test"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &originWorld{s, t, u}
}

// begin begins a session an hour ago, as a sign-in does, and returns its cookie.
func (w *originWorld) begin(o adapter.SessionOrigin) *http.Cookie {
	w.t.Helper()
	now := time.Now()
	b := sessionStart{user: w.user, provider: "op", began: now.Add(-time.Hour), authTime: now.Add(-time.Hour), token: seal.Token(), origin: o}
	made, err := w.keeper.sessions.issue(w.t.Context(), &b)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.keeper.Adapter.CreateSession(w.t.Context(), *w.keeper.sessions.start(&b)); err != nil {
		w.t.Fatal(err)
	}
	return &http.Cookie{Name: w.site.names.Session, Value: made.value}
}

// ask sends a request with cookies. It adds the new ones to them.
func (w *originWorld) ask(jar map[string]string, method, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "https://app.test/api/auth/"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range jar {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	got := httptest.NewRecorder()
	w.ServeHTTP(got, r)
	for _, c := range got.Result().Cookies() {
		jar[c.Name] = c.Value
	}
	return got
}

// decoded decodes an answer, and for a token its claims.
func (w *originWorld) decoded(raw string) map[string]any {
	w.t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		w.t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// TestSecondStepOfASession: programs, the Session callback, GET account, tokens for other
// back ends and other hosts learn of a second factor and of an actor, also after the
// cookie is issued again. No feature begins such sessions yet.
func TestSecondStepOfASession(t *testing.T) {
	t.Parallel()
	second := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	for _, strategy := range []authsvc.Strategy{authsvc.StrategyDatabase, authsvc.StrategyJWT} {
		for name, tt := range map[string]struct {
			origin       adapter.SessionOrigin
			acr          string
			fresh        bool
			claimed, act any // in tokens
		}{
			"one factor":    {adapter.SessionOrigin{AMR: "fed"}, "1fa", false, nil, nil},
			"two factors":   {adapter.SessionOrigin{AMR: "fed otp mfa", SecondAt: second}, "2fa", true, float64(second.Unix()), nil},
			"a passkey":     {adapter.SessionOrigin{AMR: "pop user mfa", SecondAt: second}, "phr", true, float64(second.Unix()), nil},
			"an actor":      {adapter.SessionOrigin{AMR: "fed", Actor: `admin:"ü"`}, "1fa", false, nil, map[string]any{"sub": `admin:"ü"`}},
			"both together": {adapter.SessionOrigin{AMR: "fed otp mfa", SecondAt: second, Actor: "support"}, "2fa", false, float64(second.Unix()), map[string]any{"sub": "support"}},
		} {
			t.Run(string(strategy)+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newOriginWorld(t, strategy)
				cookie := w.begin(tt.origin)
				jar := map[string]string{cookie.Name: cookie.Value}
				shown := fmt.Sprint(map[string]any{"second": float64(tt.origin.SecondAt.UnixMilli()), "actor": tt.origin.Actor})
				if got := fmt.Sprint(w.decoded(w.ask(jar, "GET", "session", nil).Body.String())); got != shown {
					t.Errorf("GET session: %s, want %s", got, shown)
				}
				if again := jar[cookie.Name]; strategy == authsvc.StrategyJWT && again == cookie.Value {
					t.Error("the token was not issued again")
				}
				r := httptest.NewRequest("GET", "https://app.test/", nil)
				r.AddCookie(&http.Cookie{Name: cookie.Name, Value: jar[cookie.Name]})
				s, err := w.Session(r)
				if err != nil || s == nil {
					t.Fatal(s, err)
				}
				judge := func(where string, s *authsvc.Session) {
					t.Helper()
					if strings.Join(s.AMR(), " ") != tt.origin.AMR || s.ACR() != tt.acr || !s.SecondAt().Equal(tt.origin.SecondAt) || s.Actor() != tt.origin.Actor {
						t.Errorf("%s: %v %s, second factor %v, actor %q", where, s.AMR(), s.ACR(), s.SecondAt(), s.Actor())
					}
				}
				judge("Service.Session", s)
				w.judgeOtherHost(s, jar[cookie.Name], judge)

				account := w.decoded(w.ask(jar, "GET", "account", nil).Body.String())["session"].(map[string]any)
				want := map[string]any{"acr": tt.acr, "amr": tt.origin.AMR, "fresh": tt.fresh, "secondAt": nil, "actor": nil}
				if tt.claimed != nil {
					want["secondAt"] = second.UTC().Format("2006-01-02T15:04:05.000Z")
				}
				if tt.act != nil {
					want["actor"] = tt.origin.Actor
				}
				account["amr"] = strings.Trim(fmt.Sprint(account["amr"]), "[]")
				for name, v := range want {
					if account[name] != v {
						t.Errorf("GET account: %s is %v, want %v", name, account[name], v)
					}
				}
				w.judgeFresh(r, tt.fresh)

				csrf := w.decoded(w.ask(jar, "GET", "csrf", nil).Body.String())["csrfToken"].(string)
				token, _ := w.decoded(w.ask(jar, "POST", "token", url.Values{"csrfToken": {csrf}}).Body.String())["access_token"].(string)
				payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token+"..", ".")[1])
				if err != nil {
					t.Fatal(err)
				}
				claims := w.decoded(string(payload))
				if claims["acr"] != tt.acr || claims["second_at"] != tt.claimed || fmt.Sprint(claims["act"]) != fmt.Sprint(tt.act) {
					t.Errorf("a token for another back end: %s", payload)
				}
			})
		}
	}
}

// judgeOtherHost hands the session over to a host with a cookie of its own.
func (w *originWorld) judgeOtherHost(s *authsvc.Session, raw string, judge func(where string, s *authsvc.Session)) {
	w.t.Helper()
	now := time.Now()
	carried, err := w.keeper.sessions.carry(s, raw, now, func(string) bool { return false })
	if err != nil {
		w.t.Fatal(err)
	}
	at := w.keeper.places.entered("wiki.test")
	value, err := at.enter(carried, now)
	if err != nil {
		w.t.Fatal(err)
	}
	there, _, err := at.read(w.t.Context(), value, now, readOptions{})
	if err != nil || there == nil {
		w.t.Fatal(there, err)
	}
	judge("another host", there)
}

// judgeFresh asks for a page that requires a proof from the last ten minutes.
func (w *originWorld) judgeFresh(r *http.Request, fresh bool) {
	w.t.Helper()
	got := httptest.NewRecorder()
	w.RequireFresh(10*time.Minute)(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) })).ServeHTTP(got, r)
	if (got.Code == http.StatusNoContent) != fresh {
		w.t.Errorf("RequireFresh answers %d, want fresh %v", got.Code, fresh)
	}
}
