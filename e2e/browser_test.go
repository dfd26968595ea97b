package e2e

import (
	"os"
	"sync"
	"testing"

	"authsvc/internal/test/chromium"
	"authsvc/internal/test/process"
)

// browser is the one browser process of this test binary.
var browser struct {
	once sync.Once
	*chromium.Browser
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.Browser != nil {
		browser.Close()
	}
	process.RemoveBinary()
	os.Exit(code)
}

// newTab opens a tab with a profile of its own, without cookies or history.
func newTab(t *testing.T) *chromium.Tab {
	t.Helper()
	needNode(t)
	browser.once.Do(func() { browser.Browser, browser.err = chromium.Start(chromium.Options{}) })
	if browser.err != nil {
		t.Fatal(browser.err)
	}
	return browser.Tab(t)
}
