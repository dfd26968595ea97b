// Package verify holds no code, only checks of the security and reliability of
// authsvc that anybody can run:
//
//	go test ./verify/... -run TestVerify -v
//	go test ./verify/... -run TestVerify/csrf/05 -v
//
// Each check has an id, group/NN, attacks or disturbs the service through its
// public surface (HTTP to the handler or to the built binary, the command line,
// the store), and shows in the same test that the same flow passes without the
// attack. It prints one line, "id PASS|FAIL|SKIP reason figure", and a summary
// by group ends the run.
//
// AUTHSVC_VERIFY is the scale: "quick" takes about a minute and is the one of a
// plain `go test ./...`; "ci" takes minutes and is the one when -run names
// TestVerify; "full" takes hours. What a scale leaves out, and what a machine
// cannot run for want of a server or a browser, is printed as SKIP with the
// reason; AUTHSVC_E2E=1 makes such a want a failure.
package verify
