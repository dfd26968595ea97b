package chromium

import (
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Scripts switches JavaScript on or off for later pages.
func (b *Tab) Scripts(on bool) {
	b.T.Helper()
	Send(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// Colours makes the pages dark or light.
func (b *Tab) Colours(scheme string) {
	b.T.Helper()
	Send(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// Size sets the viewport, in CSS pixels.
func (b *Tab) Size(width, height int64) {
	b.T.Helper()
	b.Do(chromedp.EmulateViewport(width, height))
}

// Cookies returns the browser's cookies for a URL, by name.
func (b *Tab) Cookies(url string) map[string]string {
	b.T.Helper()
	all := map[string]string{}
	for _, c := range Send(b, network.GetCookies, network.GetCookiesParams{URLs: []string{url}}).Cookies {
		all[c.Name] = c.Value
	}
	return all
}

// Downloads saves the tab's downloads to a directory under their suggested names.
func (b *Tab) Downloads(dir string) {
	b.T.Helper()
	b.Do() // creates the target
	of := chromedp.FromContext(b.ctx).BrowserContextID
	Send(b, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: of, DownloadPath: dir})
}
