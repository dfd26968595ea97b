// Package authtest helps programs that embed authsvc to test what they built on
// it. A test gets a service on a server of its own, with an identity provider
// that lets anybody in and a box that catches all mail:
//
//	func TestOrders(t *testing.T) {
//		auth := authtest.New(t, nil)
//		auth.Handle("/orders", auth.Require(orders))
//		res, err := auth.Client(t, authsvc.User{Email: "ada@example.com"}).Get(auth.URL + "/orders")
//		…
//	}
//
// There is no back door: [Service.Client], [SignedIn] and the others go through
// the engine's own sign-in at an OpenID Connect provider, with its callbacks and
// events, so what a test sees is what a browser would. All of it is on loopback
// and ends with the test. Tests may run in parallel, each with a service.
//
// The package imports testing: import it from tests only.
package authtest
