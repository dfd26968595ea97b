// Package js embeds the scripts of the browser client that the engine serves.
package js

import _ "embed" // embeds the scripts

var (
	//go:embed client.js
	client []byte
	//go:embed account.js
	account []byte
)

// Client is client.js, the framework-free browser client. The caller must not
// change it.
func Client() []byte { return client }

// Account is account.js, the part of the client for account pages. The caller must
// not change it.
func Account() []byte { return account }
