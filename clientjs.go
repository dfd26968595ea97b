package authsvc

import _ "embed" // client.js

// clientJS is the framework-free browser client.
//
//go:embed clients/js/client.js
var clientJS []byte

var clientETag = `"` + digest(string(clientJS))[:16] + `"`
