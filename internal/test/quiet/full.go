//go:build full

package quiet

// Full reports whether this is a run of make full, on a machine quiet enough to
// compare times, rates and memory. Otherwise a test must wait for events and assert
// only facts that are true on a machine of any speed.
const Full = true
