package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
)

// TestCollectLess: the end of a large start returns garbage to the system, which forces a
// collection. It does so again if it is called again. A smaller start, and one whose
// operator configured the collector, do not.
func TestCollectLess(t *testing.T) { // not parallel: other tests share the collector
	forced := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	for _, c := range []struct {
		env          map[string]string
		large        uint64
		want         uint32 // collections
		during, then int    // values of GOGC
	}{
		{nil, 1, 2, 400, 100},
		{nil, math.MaxUint64, 0, 400, 100},
		{map[string]string{"GOGC": "70"}, 1, 0, 100, 100},
		{map[string]string{"GOMEMLIMIT": "1GiB"}, 1, 0, 100, 100},
	} {
		p := &program{env: c.env}
		end := p.collectLess(c.large)
		if got := debug.SetGCPercent(c.during); got != c.during {
			t.Errorf("%v: GOGC is %d during the start, want %d", c.env, got, c.during)
		}
		n := forced()
		end()
		end()
		if got := forced() - n; got != c.want {
			t.Errorf("%v, %d: %d forced collections, want %d", c.env, c.large, got, c.want)
		}
		if got := debug.SetGCPercent(c.then); got != c.then {
			t.Errorf("%v: GOGC is %d afterwards, want %d", c.env, got, c.then)
		}
	}
}

// TestInstanceForgets: a running instance does not hold the places of its settings.
func TestInstanceForgets(t *testing.T) {
	t.Parallel()
	s, err := config.Load(config.Input{Env: map[string]string{"AUTHSVC_URL": "https://app.example.com", "AUTHSVC_SECRET": testSecret, "AUTHSVC_GITHUB_ID": "a", "AUTHSVC_GITHUB_SECRET": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	service, err := engine.New(s.Engine)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close(t.Context())
	if !s.IsSet("url") {
		t.Error("the place of url is not known at the start")
	}
	if in := newInstance(s, service); in.settings.IsSet("url") {
		t.Error("the place of url is still known")
	}
}
