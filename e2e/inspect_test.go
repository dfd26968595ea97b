package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"authsvc/internal/test/chromium"
)

// axe holds the source of axe-core, which finds WCAG violations.
var axe = sync.OnceValues(func() ([]byte, error) {
	return os.ReadFile(filepath.Join(webDir, "node_modules", "axe-core", "axe.min.js"))
})

// screenshots returns the directory for pictures; empty: none are taken.
func screenshots(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("AUTHSVC_SCREENSHOTS")
	if dir == "" {
		return ""
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// inspect checks the tab's page in light and dark, on narrow screens, at double size
// and from right to left, and takes a picture. own lists the origins that it may load
// from.
func inspect(t *testing.T, b *chromium.Tab, name string, own ...string) {
	t.Helper()
	if left := chromium.Foreign(b.Loaded(), own...); len(left) > 0 {
		t.Errorf("%s: loaded from elsewhere: %v", name, left)
	}
	b.Quiet()
	dir := screenshots(t)
	for _, scheme := range []string{"light", "dark"} {
		b.Colours(scheme)
		settle(b)
		accessible(t, b, name+" in "+scheme)
		picture(t, b, dir, name+"."+scheme)
	}
	b.Colours("light")
	b.Size(390, 844)
	settle(b)
	picture(t, b, dir, name+".390")
	b.Size(320, 640)
	fits(t, b, name, 320)
	b.Size(1100, 860)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.documentElement.style.fontSize = "200%"; void 0`))
	settle(b)
	fits(t, b, name+" at 200 %", 1100)
	picture(t, b, dir, name+".200")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.documentElement.style.fontSize = ""; void 0`))
	b.Size(390, 844)
	settle(b)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.documentElement.dir = "rtl"; void 0`))
	settle(b)
	fits(t, b, name+" from right to left", 390)
	picture(t, b, dir, name+".rtl")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.documentElement.removeAttribute("dir"); void 0`))
	b.Size(1100, 860)
	b.Trouble() // drops errors caused by axe
}

// fits fails if the page scrolls sideways, or an element reaches beyond its edges.
func fits(t *testing.T, b *chromium.Tab, name string, width float64) {
	t.Helper()
	outside := chromium.Eval[[]string](b, `Array.from(document.querySelectorAll("main *")).filter((e) => {
		const r = e.getBoundingClientRect()
		return r.width > 1 && (r.left < -0.5 || r.right > innerWidth + 0.5) && e.closest("pre, iframe, .vh") === null
	}).map((e) => e.outerHTML.slice(0, 100))`)
	if len(outside) > 0 {
		t.Errorf("%s: beyond the edges: %q", name, outside)
	}
	if wide := chromium.Eval[float64](b, `document.documentElement.scrollWidth`); wide > width {
		t.Errorf("%s: scrolls sideways at %v px: %v px wide", name, width, wide)
	}
}

// settle finishes transitions, which would distort measurements.
func settle(b *chromium.Tab) {
	b.T.Helper()
	chromium.Eval[bool](b, `new Promise((done) => requestAnimationFrame(() => {
		document.getAnimations().forEach((a) => a.finish())
		requestAnimationFrame(() => done(true))
	}))`)
}

// accessible runs axe with all rules for WCAG 2.2 AA and best practice.
func accessible(t *testing.T, b *chromium.Tab, what string) {
	t.Helper()
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	// The protocol bypasses the page's security policy.
	b.Do(chromedp.Evaluate[chromedp.Void](string(source) + "; void 0"))
	violations := chromium.Eval[[]struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}](b, `(async () => {
		return (await axe.run(document, {preload: false, resultTypes: ["violations"]})).violations
	})()`)
	for _, v := range violations {
		t.Errorf("%s: %s: %s", what, v.ID, v.Help)
		for _, n := range v.Nodes {
			t.Errorf("    %s\n    %s", n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", " "))
		}
	}
}

// picture writes the whole page as a PNG file. From right to left, where a full
// picture shifts the page, it writes the visible part.
func picture(t *testing.T, b *chromium.Tab, dir, name string) {
	t.Helper()
	if dir == "" {
		return
	}
	ctx, cancel := b.Limit()
	defer cancel()
	take := chromedp.FullScreenshot(100)
	if strings.HasSuffix(name, ".rtl") {
		take = chromedp.CaptureScreenshot()
	}
	png, err := chromedp.Run(ctx, take)
	if err != nil {
		t.Fatalf("picture %s: %v", name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}

// focused fails unless a matching element has the focus.
func focused(t *testing.T, b *chromium.Tab, css string) {
	t.Helper()
	on := fmt.Sprintf(`document.activeElement.matches(%s)`, chromium.Quote(css))
	for end := time.Now().Add(chromium.Patience); !chromium.Eval[bool](b, on); time.Sleep(20 * time.Millisecond) { // autofocus happens after loading
		if time.Now().Before(end) {
			continue
		}
		t.Errorf("%s: the focus is on %s, not on %s", b.URL(), chromium.Eval[string](b, `document.activeElement.outerHTML.slice(0, 200)`), css)
		return
	}
}

// titled fails unless the page has a title, exactly one h1, and these texts.
func titled(t *testing.T, b *chromium.Tab, parts ...string) {
	t.Helper()
	if n := chromium.Eval[int](b, `document.querySelectorAll("h1").length`); n != 1 || chromium.Eval[string](b, `document.title`) == "" {
		t.Errorf("%s: %d first headings, title %q", b.URL(), n, chromium.Eval[string](b, `document.title`))
	}
	b.Shows(slices.DeleteFunc(parts, func(s string) bool { return s == "" })...)
}
