package authsvc_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
)

// Blocking a user is the application's decision: the callback refuses new sign-ins, and
// EndSessions ends the existing sessions.
func ExampleService_EndSessions() {
	// docs: block
	var blocked sync.Map // of user ids; in a real program, a database column
	store := memory.New()
	auth, err := engine.New(authsvc.Config{
		URL:     "http://localhost:8080",
		Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, // make your own: authsvc secret
		Adapter: store,
		Providers: []authsvc.Provider{&authsvc.OAuth{
			ID: "acme", Name: "Acme", OpenID: true, Issuer: "https://id.acme.example",
			Client: authsvc.Client{ID: "app", Secret: "from-acme"},
		}},
		Callbacks: authsvc.Callbacks{SignIn: func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if _, is := blocked.Load(a.User.ID); is {
				return "", authsvc.ErrAccessDenied
			}
			return "", nil
		}},
	})
	// docs
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer auth.Close(ctx)
	eve, err := store.CreateUser(ctx, authsvc.User{ID: "eve", Name: "Eve"}, nil)
	if err != nil {
		log.Fatal(err)
	}

	// docs: end sessions
	blocked.Store(eve.ID, true)         // first, so that no new sign-in succeeds
	err = auth.EndSessions(ctx, eve.ID) // then the existing sessions
	// docs
	fmt.Println(err)
	// Output: <nil>
}
