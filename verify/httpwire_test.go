package verify

import "authsvc/internal/test/process"

var httpwireChecks = checks{
	"01": {title: "smuggling with both lengths", once: true, run: httpwire01},
	"02": {title: "tricks with Content-Length", once: true, run: httpwire02},
	"03": {title: "tricks with lines and chunks", once: true, run: httpwire03},
	"04": {title: "chunk extensions are limited", once: true, run: httpwire04},
	"05": {title: "slow headers do not starve other clients", once: true, alone: true, least: ci, run: httpwire05},
	"06": {title: "slow bodies and slow readers are disconnected", once: true, least: ci, run: httpwire06},
	"07": {title: "large and many headers", once: true, alone: true, run: httpwire07},
	"08": {title: "cookie flood", once: true, alone: true, run: httpwire08},
	"09": {title: "large bodies", run: httpwire09},
	"10": {title: "form and JSON bombs", run: httpwire10},
	"11": {title: "compressed requests are not inflated", run: httpwire11},
	"12": {title: "methods", run: httpwire12},
	"13": {title: "HTTP/2 floods", once: true, alone: true, run: httpwire13},
	"14": {title: "a panic affects only its request", run: httpwire14},
	"15": {title: "errors disclose nothing", run: httpwire15},
	"16": {title: "long URLs", run: httpwire16},
	"17": {title: "idle connections", once: true, alone: true, run: httpwire17},
	"18": {title: "no regular expression backtracks", once: true, run: httpwire18},
	"19": {title: "Expect, upgrade, pipelining", once: true, run: httpwire19},
}

// httpwireServe runs the binary without a proxy. Its peer 127.0.0.1 is trusted, so
// that an address in X-Forwarded-For marks a request in the log.
func httpwireServe(t *T) (*process.Process, *process.Neighbours) {
	t.Helper()
	n := process.NewNeighbours(t)
	return process.Serve(t, n.YAML("trusted_proxies: [127.0.0.1/32]"), "AUTHSVC_STORAGE_URL=memory:"), n
}
