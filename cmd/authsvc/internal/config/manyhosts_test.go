package config

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"authsvc/engine"
	"authsvc/internal/test/quiet"
)

// TestManyHosts: the work of a start grows in proportion to the gate. The test counts
// memory, because the time depends on the machine.
func TestManyHosts(t *testing.T) { // not parallel: other tests would be counted
	start := func(hosts int) (bytes, objects uint64) {
		t.Helper()
		var b strings.Builder
		b.WriteString("url: http://127.0.0.1:3000\nsecret: " + strings.Repeat("0123456789abcdef", 3) + "\ntrusted_proxies: [127.0.0.1]\n" +
			"providers: [{id: github, client_id: a, client_secret: b}]\ngate:\n  hosts:\n")
		for i := range hosts {
			fmt.Fprintf(&b, "  - {origin: \"http://127.0.0.1:%d\", rules: [", 4000+i)
			for k := range 50 {
				fmt.Fprintf(&b, "{match: /folder%02d/, allow: {domains: [example.com]}}, ", k)
			}
			b.WriteString("]}\n")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := compile(Input{}, "authsvc.yaml", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		service, err := engine.New(s.Engine)
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if err := service.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
	}
	start(1) // allocations that happen once
	bytes, objects := start(20)
	moreBytes, moreObjects := start(200)
	if quiet.Full && (moreBytes > 14*bytes || moreObjects > 14*objects) {
		t.Errorf("ten times the hosts: %.1f times the bytes, %.1f times the objects", float64(moreBytes)/float64(bytes), float64(moreObjects)/float64(objects))
	}
}
