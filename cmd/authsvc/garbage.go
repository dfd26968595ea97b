package main

import "runtime/debug"

// collectLess lets a start collect its garbage only at 16 MiB, which small ones do
// not reach, and then at five times what is live: the collections would take a
// seventh of its time. The function that it returns ends that; it may be called
// again. An operator who sets GOGC or GOMEMLIMIT has decided otherwise.
func (p *program) collectLess() (end func()) {
	if p.ownsCollector() {
		return func() {}
	}
	debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(100) } // as Go has it
}

// untouchedHeap is memory that is never touched and so takes none of the machine's,
// but that the garbage collector counts: it then lets as much more garbage come
// together. Of the 1 MB that is live it would else let 3 MB, which is a collection
// every 600 requests and a seventh of all processor time.
func (p *program) untouchedHeap() []byte {
	if p.ownsCollector() {
		return nil
	}
	return make([]byte, 6<<20)
}

// ownsCollector reports whether the operator has set how garbage is collected.
func (p *program) ownsCollector() bool {
	return p.env["GOGC"] != "" || p.env["GOMEMLIMIT"] != ""
}
