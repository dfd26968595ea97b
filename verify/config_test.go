package verify

import (
	"net/http"

	"authsvc/internal/arena"
)

var configChecks = checks{
	"05": {title: "no debugging endpoint on the public port", once: true, run: config05},
}

func config05(t *T) {
	p := arena.Serve(t, arena.NewNeighbours(t).YAML(""), "AUTHSVC_STORAGE_URL=memory:")
	v := arena.NewVisitor(p.URL, nil)
	for path, want := range map[string]int{
		"/debug/pprof/": http.StatusNotFound, "/debug/vars": http.StatusNotFound, "/metrics": http.StatusNotFound,
		"/api/auth/debug/pprof/": http.StatusNotFound, "/api/auth/providers": http.StatusOK, "/healthz": http.StatusOK,
	} {
		if a, err := v.Get(path); err != nil || a.StatusCode != want {
			t.Errorf("%s: %v, want %d; %v", path, a.StatusCode, want, err)
		}
	}
}
