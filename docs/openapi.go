// Package docs embeds the documents that programs read.
package docs

import _ "embed"

// OpenAPI describes the HTTP interface of every compat mode, at http://localhost:3000
// and with the default path.
//
//go:embed openapi.yaml
var OpenAPI []byte
