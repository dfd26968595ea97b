// Package authsvc signs people in: the HTTP interface of NextAuth.js as one Go
// engine.
package authsvc
