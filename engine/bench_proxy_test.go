//go:build !race && unix

package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// BenchmarkUpstream passes on a page of 1 KB: once by a bare ReverseProxy, once by the
// gate. The metric cpu-ns/op counts the processor time of client, proxy and program.
func BenchmarkUpstream(b *testing.B) {
	page := []byte(strings.Repeat("0123456789abcdef", 64))
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(page) }))
	b.Cleanup(program.Close)
	to, err := url.Parse(program.URL)
	if err != nil {
		b.Fatal(err)
	}
	s, in := benchService(b, func(c *authsvc.Config) {
		jwtV4(c)
		c.Gate.Hosts = []authsvc.GateHost{{Origin: arena.Origin, Upstream: program.URL}}
	})
	for _, way := range []struct {
		name  string
		proxy http.Handler
	}{
		{"ReverseProxy", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
			Transport: &http.Transport{MaxIdleConns: 100, MaxIdleConnsPerHost: 100}}},
		{"gate", s.Guard(nil)},
	} {
		b.Run(way.name, func(b *testing.B) {
			front := httptest.NewServer(way.proxy)
			defer front.Close()
			r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, front.URL+"/page", nil)
			if err != nil {
				b.Fatal(err)
			}
			r.Header, r.Host = in.Header, in.Host
			client := front.Client()
			b.ReportAllocs()
			began := processorTime(b)
			for b.Loop() {
				res, err := client.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, res.Body); n != int64(len(page)) || err != nil {
					b.Fatal(fmt.Sprint(res.Status, n, err))
				}
				res.Body.Close()
			}
			b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processorTime returns the processor time of this process in nanoseconds.
func processorTime(b *testing.B) int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
