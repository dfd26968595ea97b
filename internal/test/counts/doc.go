// Package counts pins the costs that users wait for to exact numbers that do not
// depend on the machine: the store calls of each flow, and its allocations.
package counts
