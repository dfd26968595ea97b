// Package engine is the authentication service: [New] makes an [net/http.Handler]
// of an [authsvc.Config].
//
// The methods of [Service] are for three readers. A program that embeds the
// service calls New, Close, Reconfigure, Session, Require and Guard, and the methods
// about people, such as Accounts, EndSessions and DeleteUser. Commands of an
// operator call [Prepare], CheckStore, RewriteTokens and the dry runs. Both may
// call the methods about tokens.
//
// The package stands on storeys; see storeys.go.
package engine
