package authsvc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"
)

// docs: back end
var authClient = &http.Client{Timeout: 5 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// A Person holds the fields of a session that this application uses.
type Person struct{ Name, Email string }

// whoIs returns the signed-in person of a request, or nil, and passes the renewed
// cookie on. If it fails, the session is unknown: answer 503.
func whoIs(w http.ResponseWriter, r *http.Request, authsvc string) (*Person, error) {
	ask, err := http.NewRequestWithContext(r.Context(), http.MethodGet, authsvc+"/api/auth/session", nil)
	if err != nil {
		return nil, err
	}
	ask.Header["Cookie"] = r.Header["Cookie"]
	res, err := authClient.Do(ask)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("authsvc answered %s", res.Status)
	}
	for _, line := range res.Header["Set-Cookie"] {
		w.Header().Add("Set-Cookie", line)
	}
	var session struct{ User *Person }
	err = json.NewDecoder(res.Body).Decode(&session)
	return session.User, err
}

// docs

// A program of its own, beside the service.
func Example_backEnd() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch cookie, err := r.Cookie("authsvc.session"); {
		case err != nil:
			fmt.Fprint(w, "{}")
		case cookie.Value == "while the store is away":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.Header().Add("Set-Cookie", "authsvc.session=renewed")
			fmt.Fprint(w, `{"user": {"name": "Ada", "email": "ada@example.com", "image": null}, "expires": "2026-12-21T06:29:18.369Z"}`)
		}
	}))
	defer service.Close()

	for _, value := range []string{"", "hers", "while the store is away"} {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		if value != "" {
			r.AddCookie(&http.Cookie{Name: "authsvc.session", Value: value})
		}
		person, err := whoIs(w, r, service.URL)
		if person == nil {
			fmt.Println("no session,", err)
			continue
		}
		fmt.Println(person.Email, w.Header().Get("Set-Cookie"))
	}
	// Output:
	// no session, <nil>
	// ada@example.com authsvc.session=renewed
	// no session, authsvc answered 503 Service Unavailable
}
