package bearer_test

import (
	"fmt"
	"log"
	"net/http"

	"authsvc/bearer"
)

func Example() {
	// docs: bearer
	v, err := bearer.New(bearer.Config{
		Issuer:   "https://app.example.com/api/auth", // url of authsvc, with its path
		Audience: "https://api.example.com",          // in tokens.audiences there
	})
	if err != nil {
		log.Fatal(err)
	}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello", bearer.FromContext(r.Context()).Subject)
	})
	mux := http.NewServeMux()
	mux.Handle("/", v.Require(api))
	// docs
	_ = mux
	// Output:
}
