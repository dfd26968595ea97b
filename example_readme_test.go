package authsvc_test

import (
	"log"
	"net/http"
	"os"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine"
	"authsvc/mail"
	"authsvc/provider"
)

// The README's example, word for word; TestDocumentedCode compares them.
func Example_readme() {
	var (
		mux        = http.NewServeMux()
		app        http.Handler
		store      adapter.Adapter
		acme       authsvc.Client
		id, secret string
	)
	// docs: embed
	send, err := mail.SMTP(os.Getenv("SMTP_URL"), mail.Options{})
	if err != nil {
		log.Fatal(err)
	}
	auth, err := engine.New(authsvc.Config{
		URL:     "https://app.example.com",
		Secrets: []string{os.Getenv("AUTHSVC_SECRET")}, // authsvc secret prints one
		Adapter: store,                                 // one of adapter/…; nil keeps sessions in cookies
		Providers: []authsvc.Provider{
			provider.GitHub(authsvc.Client{ID: id, Secret: secret}),
			&authsvc.OAuth{ID: "acme", Name: "Acme", OpenID: true, Issuer: "https://id.acme.example", Client: acme},
			&authsvc.Email{From: "Acme <no-reply@example.com>", Send: send},
		},
	})
	if err != nil {
		log.Fatal(err) // every mistake in the configuration, at once
	}
	mux.Handle("/api/auth/", auth)
	mux.Handle("/app/", auth.Require(app)) // in app: session, err := auth.Session(r)
	// docs
}
