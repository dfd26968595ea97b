package arena

import "authsvc/internal/test/browser"

// A Visitor is a [browser.Browser].
type Visitor = browser.Browser

// NewVisitor is [browser.New].
var NewVisitor = browser.New
