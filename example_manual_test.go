package authsvc_test

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
)

// exampleConfig lets one person of the examples below sign in with a form.
func exampleConfig() authsvc.Config {
	return authsvc.Config{
		URL:     "http://localhost:8080",
		Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"}, // make your own: authsvc secret
		Providers: []authsvc.Provider{&authsvc.Credentials{
			Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{ID: "7"}, nil },
		}},
	}
}

// Reading the session on a page that does not require sign-in.
func ExampleService_Session() {
	auth, err := engine.New(exampleConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer auth.Close(context.Background())

	// docs: session
	home := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.Session(r)
		switch {
		case err != nil: // the store is down: the session is unknown
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		case session == nil:
			fmt.Fprint(w, "hello, stranger")
		default:
			fmt.Fprint(w, "hello, ", session.Name)
		}
	})
	// docs

	w := httptest.NewRecorder()
	home.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost:8080/", nil))
	fmt.Println(w.Body)
	// Output: hello, stranger
}

// A field of GET session that the application adds.
func ExampleCallbacks_session() {
	unread := func(context.Context, string) (int, error) { return 3, nil }

	// docs: session callback
	callbacks := authsvc.Callbacks{
		// At each GET session: the fields that the browser receives.
		Session: func(ctx context.Context, p authsvc.SessionParams) (map[string]any, error) {
			n, err := unread(ctx, p.User.ID)
			p.Session["unread"] = n
			return p.Session, err
		},
	}
	// docs

	shown, err := callbacks.Session(context.Background(), authsvc.SessionParams{User: authsvc.User{ID: "7"}, Session: map[string]any{}})
	fmt.Println(shown["unread"], err)
	// Output: 3 <nil>
}

// A handler that decides by the provider's claims, with either strategy.
func ExampleDecode() {
	auth, err := engine.New(exampleConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer auth.Close(context.Background())

	// docs: decode
	type member struct {
		ID            string
		Email         string
		EmailVerified bool `json:"email_verified"`
		Groups        []string
	}
	reports := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.Session(r)
		if err != nil || session == nil {
			http.Error(w, "sign in first", http.StatusUnauthorized)
			return
		}
		me, err := authsvc.Decode[member](session)
		if err != nil || !slices.Contains(me.Groups, "finance") {
			http.Error(w, "not for you", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, "the reports, ", me.ID)
	})
	// docs

	w := httptest.NewRecorder()
	reports.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost:8080/reports", nil))
	fmt.Println(w.Code)
	// Output: 401
}

// An action that a forgotten session must not allow.
func ExampleService_RequireFresh() {
	auth, err := engine.New(exampleConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer auth.Close(context.Background())
	mux, deleteAccount := http.NewServeMux(), http.NotFoundHandler()

	// docs: fresh
	fresh := auth.RequireFresh(10 * time.Minute)
	mux.Handle("POST /account/delete", fresh(deleteAccount))
	// docs

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost:8080/account/delete", nil))
	fmt.Println(w.Code)
	// Output: 401
}

// Your own sign-in page.
func ExamplePages() {
	mux := http.NewServeMux()

	// docs: pages
	config := exampleConfig()
	config.Pages = authsvc.Pages{SignIn: "/welcome", Error: "/sorry"}
	auth, err := engine.New(config)
	if err != nil {
		log.Fatal(err)
	}
	mux.Handle("/api/auth/", auth)
	mux.HandleFunc("GET /welcome", func(w http.ResponseWriter, r *http.Request) {
		show(w, welcome, map[string]string{
			"CallbackURL": r.FormValue("callbackUrl"), // the engine validates it on return
			"Error":       r.FormValue("error"),       // such as OAuthCallback, after a failure
			"Style":       auth.StyleURL(),
		})
	})
	mux.HandleFunc("GET /sorry", func(w http.ResponseWriter, r *http.Request) {
		show(w, sorry, map[string]string{"Error": r.FormValue("error"), "Request": r.FormValue("request"), "Style": auth.StyleURL()})
	})
	// docs
	defer auth.Close(context.Background())

	for _, path := range []string{"/api/auth/signin?callbackUrl=/orders", "/welcome?error=OAuthCallback", "/sorry?error=AccessDenied&request=1f"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost:8080"+path, nil))
		fmt.Printf("%d %q\n", w.Code, w.Header().Get("Location"))
	}
	// Output:
	// 302 "http://localhost:8080/welcome?callbackUrl=http%3A%2F%2Flocalhost%3A8080%2Forders"
	// 200 ""
	// 200 ""
}

func show(w http.ResponseWriter, t *template.Template, view any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := t.Execute(w, view); err != nil {
		log.Print(err)
	}
}

// docs: templates
var welcome = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><meta name="viewport" content="width=device-width">
<title>Welcome</title><link rel="stylesheet" href="{{.Style}}">
<div class="page"><main class="card">
<h1>Welcome</h1>{{with .Error}}<p role="alert">That did not work ({{.}}). Try again.</p>{{end}}
<button class="button primary" data-to="{{.CallbackURL}}">Sign in with GitHub</button>
</main></div>
<script type="module">
  import { signIn } from "/api/auth/client.js"
  const button = document.querySelector("button")
  button.onclick = () => signIn("github", { callbackUrl: button.dataset.to })
</script>`))

var sorry = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><meta name="viewport" content="width=device-width">
<title>Sorry</title><link rel="stylesheet" href="{{.Style}}">
<div class="page"><main class="card">
<h1>Sorry</h1>
<p>{{if eq .Error "AccessDenied"}}You cannot sign in here.{{else}}Something went wrong.{{end}}</p>
<p>If you contact us, mention {{.Request}}.</p>
<a class="button" href="/welcome">Back</a>
</main></div>`))

// docs

// Using a provider's access token.
func ExampleService_AccessToken() {
	ctx := context.Background()
	store := memory.New()
	config := exampleConfig()
	config.Adapter = store
	config.Providers = append(config.Providers, &authsvc.OAuth{ID: "google", Name: "Google", OpenID: true,
		Issuer: "https://accounts.google.com", Client: authsvc.Client{ID: "app", Secret: "from-google"}})
	config.Session.Strategy = authsvc.StrategyJWT
	auth, err := engine.New(config)
	if err != nil {
		log.Fatal(err)
	}
	defer auth.Close(ctx)
	session := &authsvc.Session{UserID: "7"}

	// docs: token
	token, err := auth.AccessToken(ctx, session.UserID, "google", nil)
	switch {
	case errors.Is(err, authsvc.ErrNoToken), errors.Is(err, authsvc.ErrTokenRefused):
		// only the user can fix this: have them sign in with Google again
	case err != nil:
		// the provider or the store is down: try later
	}
	// docs
	fmt.Println(token, errors.Is(err, authsvc.ErrNoToken))
}

// Mail templates from a folder, as in docs/mails.md.
func ExampleParseMailTemplates() {
	var send func(ctx context.Context, m authsvc.Message) error
	// docs: mail templates
	templates, err := authsvc.ParseMailTemplates(os.DirFS("mail"))
	if err != nil {
		log.Fatal(err) // every mistake, with its file and line
	}
	email := &authsvc.Email{From: "Acme <no-reply@example.com>", Send: send, Templates: templates}
	// docs
	_ = email
}

// Errors of the engine can be compared by name.
func ExampleService_DeleteUser() {
	config := exampleConfig()
	config.Adapter = memory.New()
	auth, err := engine.New(config)
	if err != nil {
		log.Fatal(err)
	}
	defer auth.Close(context.Background())

	remove := func(ctx context.Context, id string) error {
		// docs: not found
		err := auth.DeleteUser(ctx, id)
		switch {
		case errors.Is(err, authsvc.ErrNotFound):
			fmt.Println("there is no such user")
		case err != nil:
			return err // the store failed: the user may still exist
		}
		// docs
		return nil
	}
	fmt.Println(remove(context.Background(), "7"))
	// Output:
	// there is no such user
	// <nil>
}

// A token for a program that acts for a user.
func ExampleService_CreatePersonalToken() {
	ctx := context.Background()
	config := exampleConfig()
	store := memory.New()
	config.Adapter, config.PersonalTokens.Enabled = store, true
	config.Tokens.Audiences = []authsvc.Audience{{ID: "https://api.example.com"}}
	auth, err := engine.New(config)
	if err != nil {
		log.Fatal(err)
	}
	defer auth.Close(ctx)
	if _, err := store.CreateUser(ctx, authsvc.User{ID: "7", Name: "Ada"}, nil); err != nil {
		log.Fatal(err)
	}

	// docs: personal-token
	token, made, err := auth.CreatePersonalToken(ctx, "7", authsvc.PersonalTokenRequest{
		Name: "nightly report", Audiences: []string{"https://api.example.com"}, Life: 30 * 24 * time.Hour,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(token), made.Name) // show the token now: it cannot be read again
	// docs

	// Output: 54 nightly report
}
