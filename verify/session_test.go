package verify

import "authsvc/internal/proxytest"

var sessionChecks = checks{
	"15": {title: "a shared cache crosses nobody", once: true, needs: []need{{func() string { return proxytest.Missing("nginx") }}}, run: session15},
}
