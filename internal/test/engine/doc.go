// Package engine tests the engine with a database and a mail server. The engine's own
// tests must not use either: a program that embeds the engine has the modules of its
// tests in go.sum.
package engine
