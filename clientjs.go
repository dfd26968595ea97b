package authsvc

import (
	_ "embed" // client.js

	"authsvc/internal/seal"
)

// clientJS is the framework-free browser client.
//
//go:embed clients/js/client.js
var clientJS []byte

var clientETag = `"` + seal.Digest(string(clientJS))[:16] + `"`
