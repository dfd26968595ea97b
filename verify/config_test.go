package verify

import (
	"net/http"

	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

var configChecks = checks{
	"01": {title: "an invalid configuration does not start", once: true, run: config01},
	"02": {title: "no output contains secrets of the configuration", once: true, run: config02},
	"03": {title: "files with loose permissions cause a warning or are refused", once: true, run: config03},
	"04": {title: "log level debug logs no secret", run: config04},
	"05": {title: "no debugging endpoint on the public port", once: true, run: config05},
	"06": {title: "http outside loopback does not start", once: true, run: config06},
	"07": {title: "tokens of providers are sealed in the store", run: config07, except: map[string]string{
		modeV4: "NextAuth.js reads these rows, so tokens are in plain text unless storage.provider_tokens says otherwise",
		modeV5: "Auth.js reads these rows, so tokens are in plain text unless storage.provider_tokens says otherwise"}},
}

func config05(t *T) {
	p := process.Serve(t, process.NewNeighbours(t).YAML(""), "AUTHSVC_STORAGE_URL=memory:")
	v := browser.New(p.URL, nil)
	for path, want := range map[string]int{
		"/debug/pprof/": http.StatusNotFound, "/debug/vars": http.StatusNotFound, "/metrics": http.StatusNotFound,
		"/debug/pprof/heap": http.StatusNotFound, "/debug/pprof/cmdline": http.StatusNotFound, "/debug": http.StatusNotFound, "/config": http.StatusNotFound, "/.env": http.StatusNotFound,
		"/authsvc.yaml": http.StatusNotFound, "/authsvc.db": http.StatusNotFound, "/api/auth/metrics": http.StatusNotFound,
		"/api/auth/debug/pprof/": http.StatusNotFound, "/api/auth/providers": http.StatusOK, "/healthz": http.StatusOK,
	} {
		if a, err := v.Get(path); err != nil || a.StatusCode != want {
			t.Errorf("%s: %v, want %d; %v", path, a.StatusCode, want, err)
		}
	}
}
