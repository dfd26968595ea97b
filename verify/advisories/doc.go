// Package advisories contains only tests. They try vulnerabilities of other
// authentication products, listed under their published numbers.
package advisories
