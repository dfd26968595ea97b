// Package authtest helps programs that embed authsvc to test their own code. A test
// gets a service on its own server, with an identity provider that lets everyone in and
// a box that catches all mail:
//
//	func TestOrders(t *testing.T) {
//		auth := authtest.New(t, nil)
//		auth.Handle("/orders", auth.Require(orders))
//		res, err := auth.Client(t, authsvc.User{Email: "ada@example.com"}).Get(auth.URL + "/orders")
//		…
//	}
//
// There is no back door: [Service.Client], [SignedIn] and the others use the engine's
// own sign-in at an OpenID Connect provider, with its callbacks and events, so a test
// sees what a browser would. Everything is on loopback and ends with the test. Tests
// can run in parallel, each with its own service.
//
// The package imports testing: import it only from tests.
package authtest
