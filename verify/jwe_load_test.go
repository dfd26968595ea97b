package verify

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
)

// jweTime returns how long the handler takes for GET session with a token.
func jweTime(k *jweBench, token string) time.Duration {
	r := httptest.NewRequest(http.MethodGet, arena.Origin+"/api/auth/session", nil)
	r.Header["Cookie"] = []string{k.w.SessionCookie() + "=" + token}
	rec := httptest.NewRecorder()
	began := time.Now()
	k.w.ServeHTTP(rec, r)
	return time.Since(began)
}

// jwePercentile sorts list and returns a percentile.
func jwePercentile(list []time.Duration, percent int) time.Duration {
	slices.Sort(list)
	return list[(len(list)-1)*percent/100]
}

// jwe17 sends 10 000 bad tokens a second of every kind, with good ones in between.
func jwe17(t *T) {
	const perTick = 10 // per millisecond
	seconds := t.Scale("s of 10000 bad tokens a second", 1, 3, 60)
	k := jweWorld(t, func(c *authsvc.Config) { c.Logger = slog.New(slog.DiscardHandler) })
	token := k.token(t)
	large := k.seal(t, `{"x":"`+strings.Repeat("x", 12<<10)+`",`+jweAda()[1:])
	bad := []string{flip(token, len(token)-3), flip(token, len(k.header)+8), flip(large, len(large)-3), strings.Repeat("x", 3000), strings.Repeat(".", 4000), token[:len(token)-5],
		k.header + "..AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA", jweB64(`{"alg":"none"}`) + "..AAAA.AAAA.AAAA", k.seal(t, `{"sub":7,`+jweTimes(0, time.Hour)+`}`), "x"}
	took := make([]time.Duration, 0, seconds*1000*perTick) // allocated before the heap is measured
	heap := jweHeap()
	began := time.Now()
	for tick := range seconds * 1000 {
		for i := range perTick {
			took = append(took, jweTime(k, bad[(tick+i)%len(bad)]))
		}
		if tick%100 == 0 {
			k.good(t, "a valid token between them", token)
		}
		time.Sleep(time.Until(began.Add(time.Duration(tick+1) * time.Millisecond)))
	}
	rate := float64(len(took)) / time.Since(began).Seconds()
	p99 := jwePercentile(took, 99)
	grown := jweHeap() - heap
	if measures() && p99 > 2*time.Millisecond {
		t.Errorf("p99 %v at %.0f a second", p99, rate)
	}
	if measures() && grown > 4<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	runtime.KeepAlive(took)
	t.Figure("%.0f a second, median %v, p99 %v, heap %+d KiB", rate, jwePercentile(took, 50), p99, grown>>10)
}

// jweHeap returns the live heap in bytes.
func jweHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
