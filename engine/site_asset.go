package engine

import (
	"strings"

	"authsvc/clients/js"
	"authsvc/internal/seal"
)

var assetRoute = route{name: "asset", get: getAsset}

// getAsset answers GET style.<hash>.css and GET icon.<hash>.svg.
func getAsset(rq *request) outcome {
	path := strings.TrimPrefix(rq.r.URL.EscapedPath(), rq.basePath+"/")
	b, contentType, _ := rq.pages.Asset(path)
	a := asset{body: b, contentType: contentType, cache: "public, max-age=31536000, immutable"}
	if path == rq.pages.StylePath {
		a.zipped = rq.pages.ZippedStyle()
	}
	return a
}

// clientScript answers GET client.js with the framework-free browser client.
func clientScript(rq *request) outcome {
	return asset{body: clientJS, contentType: "text/javascript; charset=utf-8", cache: "public, max-age=3600", etag: clientETag}
}

// accountScript answers GET account.js with the client's part for pages about the
// account.
func accountScript(rq *request) outcome {
	return asset{body: accountJS, contentType: "text/javascript; charset=utf-8", cache: "public, max-age=3600", etag: accountETag}
}

// clientJS is the framework-free browser client; accountJS is its part for pages about
// the account.
var (
	clientJS, accountJS = js.Client(), js.Account()

	clientETag  = `"` + seal.Digest(string(clientJS))[:16] + `"`
	accountETag = `"` + seal.Digest(string(accountJS))[:16] + `"`
)

// sameETag reports whether an If-None-Match header has the tag (RFC 9110 section
// 13.1.2). A cache on the way may have made it a weak tag.
func sameETag(lines []string, etag string) bool {
	for _, line := range lines {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == etag {
				return true
			}
		}
	}
	return false
}

// acceptsGzip reports whether an Accept-Encoding header accepts gzip (RFC 9110 section
// 12.5.3). Weights other than 0 do not matter, since gzip is the only encoding.
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, q, weighted := strings.Cut(weight, "=")
			return !weighted || strings.Trim(strings.TrimSpace(q), "0.") != ""
		}
	}
	return false
}
