// Package engine is the authentication service. [New] makes an [net/http.Handler] from
// an [authsvc.Config].
//
// A [Service] answers requests. A program calls New and the methods Close, Reconfigure,
// Session, Require and Guard. An [Operator] does not answer requests: it inspects a
// deployment and changes its records, for commands and tests. Both have the methods of
// [People], such as EndSessions and DeleteUser, and the methods of [Keys].
//
// Inside, the package is built in layers, of which each knows only those below it; see
// storeys.go.
package engine
