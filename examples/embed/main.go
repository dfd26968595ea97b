// Command embed is a Go server with its own pages and authsvc inside: a public page,
// and one for signed-in users.
package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/engine"
	"authsvc/provider"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, err := sqlite.Open(ctx, "embed.db", sqlite.Options{Migrate: true})
	if err != nil {
		return err
	}
	defer store.Close()

	auth, err := engine.New(authsvc.Config{
		URL:     "http://localhost:8080",
		Secrets: []string{os.Getenv("AUTHSVC_SECRET")}, // authsvc secret prints one
		Adapter: store,
		Providers: []authsvc.Provider{
			provider.GitHub(authsvc.Client{ID: os.Getenv("GITHUB_ID"), Secret: os.Getenv("GITHUB_SECRET")}),
		},
	})
	if err != nil {
		return err
	}

	mux := http.NewServeMux()
	mux.Handle("/api/auth/", auth)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><html lang="en"><title>Embed</title><h1>Hello</h1><p><a href="/me">Who am I?</a>`)
	})
	mux.Handle("GET /me", auth.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.Session(r)
		if err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Me</title><h1>You are %s</h1><p><a href="/api/auth/signout">Sign out</a>`,
			html.EscapeString(session.Name))
	})))

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "localhost:8080")
	if err != nil {
		return errors.Join(err, auth.Close(context.Background()))
	}
	log.Print("open http://localhost:8080")
	return serve(ctx, listener, mux, auth)
}

// docs: stop
// serve runs until ctx is done, then drains requests in flight.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, auth *engine.Service) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(listener) }()
	var err error
	select {
	case err = <-serving:
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(ctx), auth.Close(ctx))
}

// docs
