//go:build full

package quiet

// Full reports whether this is a run of make full, on a machine that is quiet
// enough to compare times, rates and memory. Elsewhere a test waits for what
// will come, and asserts what is true on a machine of any speed.
const Full = true
