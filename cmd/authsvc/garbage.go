package main

import (
	"runtime"
	"runtime/debug"
)

// collectLess delays garbage collection during a start, because collections would take
// a seventh of the start's time. The first collection runs when the heap has 16 MiB; a
// start that needs less memory has none. Each later one runs when the heap has five
// times the live memory. end restores the default, returns the garbage of a start whose
// heap is larger than large to the system, and may be called again. If the operator sets
// GOGC or GOMEMLIMIT, collectLess changes nothing.
func (p *program) collectLess(large uint64) (end func()) {
	if p.ownsCollector() {
		return func() {}
	}
	debug.SetGCPercent(400)
	return func() {
		debug.SetGCPercent(100) // the default of Go
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapSys-m.HeapReleased > large {
			debug.FreeOSMemory()
		}
	}
}

// largeStart is the heap, in bytes, from which a start returns its garbage to the
// system. A smaller start does not spend the time. Without it, 500 gate hosts would hold
// 100 MiB that nothing uses.
const largeStart = 48 << 20

// untouchedHeap returns memory that is never touched. It takes no physical memory, but
// the garbage collector counts it and lets that much more garbage accumulate. Without
// it, 1 MB of live memory would allow only 3 MB of garbage: a collection every 600
// requests, and a seventh of all processor time.
func (p *program) untouchedHeap() []byte {
	if p.ownsCollector() {
		return nil
	}
	return make([]byte, 6<<20)
}

// ownsCollector reports whether the operator configured the garbage collector.
func (p *program) ownsCollector() bool {
	return p.env["GOGC"] != "" || p.env["GOMEMLIMIT"] != ""
}
