// Package counts holds what people wait for to exact numbers, which no machine
// changes: how much each flow asks of each store, and what it allocates.
package counts
