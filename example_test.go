package authsvc_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
)

// The README's example: a handler with sign-in, and a page that needs it.
func Example() {
	auth, err := engine.New(authsvc.Config{
		URL:     "http://localhost:8080",
		Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, // make your own: authsvc secret
		Adapter: memory.New(),
		Providers: []authsvc.Provider{&authsvc.OAuth{
			ID: "acme", Name: "Acme", OpenID: true, Issuer: "https://id.acme.example",
			Client: authsvc.Client{ID: "app", Secret: "from-acme"},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer auth.Close(context.Background())

	mux := http.NewServeMux()
	mux.Handle("/api/auth/", auth)
	mux.Handle("/app/", auth.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, _ := auth.Session(r)
		fmt.Fprintln(w, "Hello", session.Name)
	})))

	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://localhost:8080/app/", nil)
	r.Header.Set("Accept", "text/html")
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Location"))
	// Output: 302 http://localhost:8080/api/auth/signin?callbackUrl=http%3A%2F%2Flocalhost%3A8080%2Fapp%2F
}

// New rejects a wrong configuration and reports all mistakes.
func ExampleConfigErrors() {
	// docs: mistakes
	_, err := engine.New(authsvc.Config{URL: "app.example.com", Secrets: []string{"secret"}})
	for _, e := range authsvc.ConfigErrors(err) {
		fmt.Println(e.Field, e.Problem)
	}
	// docs
	// Output:
	// URL "app.example.com" is not an address with http or https
	// Secrets has fewer than 32 bytes
	// Providers is empty
}

// Your own credentials work with every session strategy.
func ExampleCredentials() {
	users := map[string]authsvc.User{"ada": {ID: "7", Name: "Ada Lovelace"}}
	auth, err := engine.New(authsvc.Config{
		URL:     "http://localhost:8080",
		Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"},
		Providers: []authsvc.Provider{&authsvc.Credentials{
			Authorize: func(_ context.Context, fields map[string]string) (authsvc.User, error) {
				u, ok := users[fields["username"]]
				if !ok || fields["password"] != "correct horse" { // compare a hash in real life
					return authsvc.User{}, authsvc.ErrAccessDenied
				}
				return u, nil
			},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer auth.Close(context.Background())
	w := httptest.NewRecorder()
	auth.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost:8080/api/auth/providers", nil))
	fmt.Println(strings.Contains(w.Body.String(), `"type":"credentials"`))
	// Output: true
}

// Require guards a handler; Callbacks decide who may sign in.
func ExampleCallbacks() {
	callbacks := authsvc.Callbacks{
		SignIn: func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if !strings.HasSuffix(a.User.Email, "@acme.example") {
				return "", authsvc.ErrAccessDenied
			}
			return "", nil
		},
		Session: func(_ context.Context, p authsvc.SessionParams) (map[string]any, error) {
			p.Session["user"].(map[string]any)["id"] = p.User.ID
			return p.Session, nil
		},
	}
	_, err := callbacks.SignIn(context.Background(), authsvc.SignInAttempt{User: authsvc.User{Email: "eve@evil.example"}})
	fmt.Println(err)
	// Output: authsvc: access denied
}
