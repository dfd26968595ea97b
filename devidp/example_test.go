package devidp_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/devidp"
	"authsvc/engine"
)

// This program uses GitHub where it is deployed. On a developer's machine, anyone can
// sign in.
func Example() {
	dev := flag.NewFlagSet("", flag.PanicOnError).Bool("dev", true, "sign in as anyone, on this machine only")
	mux := http.NewServeMux()

	// docs: development
	config := authsvc.Config{
		URL:     "http://localhost:8080",
		Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"},
		Adapter: memory.New(),
	}
	if *dev {
		config.Cookies.Prefix = "app" // browsers send the cookies of localhost to every port
		d, err := devidp.Start(&config, devidp.Options{})
		if err != nil {
			log.Fatal(err)
		}
		defer d.Close()
		fmt.Println("mails arrive at", d.InboxURL())
	}
	auth, err := engine.New(config)
	if err != nil {
		log.Fatal(err)
	}
	defer auth.Close(context.Background())
	mux.Handle("/api/auth/", auth)
	// docs
}
