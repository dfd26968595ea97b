// Package advisories holds no code, only tests of holes that other
// authentication products have had, under the numbers by which they were
// published.
package advisories
