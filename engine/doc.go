// Package engine is the authentication service: [New] makes an [net/http.Handler]
// of an [authsvc.Config].
//
// A [Service] answers requests: a program calls New, Close, Reconfigure, Session,
// Require and Guard. An [Operator] serves nothing: it inspects a deployment and
// changes its records, for commands and tests. Both have the methods of [People],
// such as EndSessions and DeleteUser, and those of [Keys].
//
// The package stands on storeys; see storeys.go.
package engine
