// Package verify contains checks of authsvc's security and reliability that anyone
// can run:
//
//	go test ./verify/... -run TestVerify -v
//	go test ./verify/... -run TestVerify/csrf/05 -v
//
// Each check has an id, group/NN. It attacks or disturbs the service through its
// public interfaces: HTTP to the handler or the built binary, the command line, and
// the store. The same test shows that the flow succeeds without the attack. A check
// prints one line, "id PASS|FAIL|SKIP reason figure". A summary by group ends the
// run.
//
// AUTHSVC_VERIFY sets the scale. "quick" takes about a minute and is the default of a
// plain `go test ./...`. "ci" takes minutes and is the default if -run names
// TestVerify. "full" takes hours. Checks that the scale leaves out, or that need a
// missing server or browser, print SKIP and the reason. AUTHSVC_E2E=1 makes a missing
// server or browser a failure.
package verify
