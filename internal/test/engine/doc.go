// Package engine tests the engine with a database and a mail server. The tests
// beside the engine have neither: a program that embeds it has the modules of
// those in its go.sum.
package engine
