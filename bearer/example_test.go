package bearer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"authsvc/bearer"
)

func Example() {
	// docs: bearer
	v, err := bearer.New(bearer.Config{
		Issuer:   "https://app.example.com/api/auth", // url of authsvc, with its path
		Audience: "https://api.example.com",          // one of tokens.audiences of authsvc
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

// If the keys are not available, the caller's token is not to blame: answer 503.
func ExampleVerifier_Verify() {
	v, err := bearer.New(bearer.Config{Issuer: "https://app.example.com/api/auth", Audience: "https://api.example.com"})
	if err != nil {
		log.Fatal(err)
	}
	status := func(ctx context.Context, raw string) int {
		// docs: bearer errors
		token, err := v.Verify(ctx, raw)
		switch {
		case errors.Is(err, bearer.ErrUnavailable):
			return http.StatusServiceUnavailable
		case err != nil:
			return http.StatusUnauthorized
		}
		// docs
		fmt.Println(token.Subject)
		return http.StatusOK
	}
	fmt.Println(status(context.Background(), "no token"))
	// Output: 401
}

// Behind the gate of authsvc, a program gets an assertion with each request of a
// signed-in user.
func ExampleVerifier_Verify_assertion() {
	// docs: bearer assertion
	assertions, err := bearer.New(bearer.Config{
		Issuer:   "https://app.example.com/api/auth", // url of authsvc, with its path
		Audience: "https://grafana.example.com",      // the program's own origin
	})
	if err != nil {
		log.Fatal(err)
	}
	// who returns the id of the user who sends the request.
	who := func(r *http.Request) (string, error) {
		token, err := assertions.Verify(r.Context(), r.Header.Get("X-Auth-Assertion"))
		if err != nil {
			return "", err
		}
		if token.Claims["token_use"] != "assertion" {
			return "", errors.New("not an assertion")
		}
		return token.Subject, nil
	}
	// docs
	_, err = who(httptest.NewRequest(http.MethodGet, "https://grafana.example.com/", nil))
	fmt.Println(errors.Is(err, bearer.ErrMalformed))
	// Output: true
}
