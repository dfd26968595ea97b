package verify

// A browserCheck is what a real browser adds to a check, or all of it.
type browserCheck struct {
	title string // of checks that are nothing else
	run   func(t *T)
	alone bool
}

// inBrowser are the checks of real browsers, by id.
var inBrowser = map[string]browserCheck{}

// closeBrowsers ends what the checks have started.
func closeBrowsers() {}
