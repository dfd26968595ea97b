package reader_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"testing"

	"authsvc/internal/test/arena"
	"authsvc/reader"
)

// greet returns a handler of a program that only asks who is signed in.
func greet(sessions *reader.Reader) http.HandlerFunc {
	// docs: read
	return func(w http.ResponseWriter, r *http.Request) {
		session, err := sessions.Read(r)
		switch {
		case err != nil:
			http.Error(w, "sign-in is not available", http.StatusServiceUnavailable)
		case session == nil:
			http.Error(w, "sign in first", http.StatusUnauthorized)
		default:
			fmt.Fprintf(w, "Hello %s\n", session.Name)
		}
	}
	// docs
}

// TestGreet runs the example of the documentation.
func TestGreet(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	secret, store := w.Config.Secrets[0], w.Config.Adapter
	const url = arena.Origin
	// docs: reader
	sessions, err := reader.New(reader.Config{
		URL:     url,
		Secrets: []string{secret},
		Adapter: store, // nil: sessions are in cookies only
	})
	if err != nil {
		log.Fatal(err)
	}
	defer sessions.Close(context.Background())
	// docs
	b := w.Browser()
	answer := func() string {
		b.H = greet(sessions)
		defer func() { b.H = w }()
		return b.Get("/app").Text
	}
	if got := answer(); got != "sign in first\n" {
		t.Errorf("no session: %q", got)
	}
	b.SignIn(w.OP, "ada")
	if got := answer(); got != "Hello Ada Lovelace\n" {
		t.Errorf("ada: %q", got)
	}
}
