// Command embed is a Go server with its own pages and authsvc inside: a public page,
// and one for signed-in users. With -dev, no identity provider is needed: anyone who
// reaches it, on this machine only, can sign in as anyone.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
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
	"authsvc/adapter/memory"
	"authsvc/adapter/sqlite"
	"authsvc/devidp"
	"authsvc/engine"
	"authsvc/provider"
)

func main() {
	dev := flag.Bool("dev", false, "sign in as anyone, on this machine only; needs neither GitHub nor variables")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "localhost:8080")
	if err == nil {
		err = run(ctx, listener, *dev)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is done.
func run(ctx context.Context, listener net.Listener, dev bool) error {
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	config := authsvc.Config{URL: "http://localhost:" + port}
	configure := deployed
	if dev {
		configure = local
	}
	end, err := configure(ctx, &config)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	auth, err := engine.New(config)
	if err != nil {
		return errors.Join(err, listener.Close(), end())
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

	log.Print("open ", config.URL)
	return errors.Join(serve(ctx, listener, mux, auth), end())
}

// deployed configures the sign-in by GitHub, and a database. end closes the database.
func deployed(ctx context.Context, c *authsvc.Config) (end func() error, err error) {
	store, err := sqlite.Open(ctx, "embed.db", sqlite.Options{Migrate: true})
	if err != nil {
		return nil, err
	}
	c.Adapter = store
	c.Secrets = []string{os.Getenv("AUTHSVC_SECRET")} // authsvc secret prints one
	c.Providers = []authsvc.Provider{
		provider.GitHub(authsvc.Client{ID: os.Getenv("GITHUB_ID"), Secret: os.Getenv("GITHUB_SECRET")}),
	}
	return store.Close, nil
}

// local configures an identity provider and an inbox on this machine. Nothing is kept
// when the program ends.
func local(_ context.Context, c *authsvc.Config) (end func() error, err error) {
	c.Adapter = memory.New()
	c.Cookies.Prefix = "embed" // browsers send the cookies of localhost to every port
	c.Secrets = []string{rand.Text() + rand.Text()}
	d, err := devidp.Start(c, devidp.Options{})
	if err != nil {
		return nil, err
	}
	log.Print("mails arrive at ", d.InboxURL())
	return d.Close, nil
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
