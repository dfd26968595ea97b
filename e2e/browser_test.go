package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a condition may take to come true; the machine may be
// busy with other tests.
const patience = 20 * time.Second

// chromium is the one browser process of this test binary.
type chromium struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}

var browser chromium

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.stop != nil {
		browser.stop()
	}
	os.Exit(code)
}

func (c *chromium) start() {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		c.err = fmt.Errorf("AUTHSVC_E2E=1 needs chromium in the PATH")
		return
	}
	profile, err := os.MkdirTemp("", "authsvc-e2e-")
	if err != nil {
		c.err = err
		return
	}
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(profile),
		chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-renderer-backgrounding", true), chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("lang", "en-US"))
	ctx, cancel := chromedp.NewContext(alloc)
	c.err = chromedp.Do(ctx)
	c.ctx, c.stop = ctx, func() {
		cancel()
		cancelAlloc()
		os.RemoveAll(profile)
	}
}

// A tab is one tab of the browser. What goes wrong in it is collected.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // console errors, exceptions, violated policies
	requests []string // URLs, in order
}

// newTab opens a tab with a profile of its own: no cookies, no history.
func newTab(t *testing.T) *tab {
	t.Helper()
	needNode(t)
	browser.once.Do(browser.start)
	if browser.err != nil {
		t.Fatal(browser.err)
	}
	return openTab(t, browser.ctx, chromedp.WithNewBrowserContext())
}

// sibling opens another tab with the same cookies.
func (b *tab) sibling() *tab {
	b.t.Helper()
	return openTab(b.t, b.ctx)
}

func openTab(t *testing.T, parent context.Context, o ...chromedp.ContextOption) *tab {
	t.Helper()
	b := &tab{t: t}
	var cancel context.CancelFunc
	b.ctx, cancel = chromedp.NewContext(parent, o...)
	t.Cleanup(cancel)
	b.do(chromedp.EmulateViewport(1100, 860))
	if err := chromedp.Listen(b.ctx, b.record); err != nil {
		t.Fatal(err)
	}
	send(b, audits.Enable, cdp.Empty{})
	return b
}

// record collects events. It must return fast.
func (b *tab) record(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, ev.Request.URL)
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+thrown(ev.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "warning" {
			b.problems = append(b.problems, fmt.Sprintf("console.%s %s", ev.Type, describe(ev.Args)))
		}
	case *log.EventEntryAdded:
		// A status of 4xx is an answer, not a mistake of the page.
		if ev.Entry.Level == log.EntryLevelError && ev.Entry.Source != log.EntrySourceNetwork {
			b.problems = append(b.problems, fmt.Sprintf("log: %s (%s)", ev.Entry.Text, ev.Entry.URL))
		}
	case *audits.EventIssueAdded:
		if d := ev.Issue.Details.ContentSecurityPolicyIssueDetails; d != nil {
			b.problems = append(b.problems, fmt.Sprintf("policy: %s stops %q", d.ViolatedDirective, d.BlockedURL))
		}
	}
}

func thrown(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

func describe(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		words = append(words, string(a.Value)+a.Description)
	}
	return strings.Join(words, " ")
}

// quiet fails if anything went wrong in the tab so far, and forgets it.
func (b *tab) quiet() {
	b.t.Helper()
	for _, p := range b.trouble() {
		b.t.Errorf("in the browser at %s: %s", b.url(), p)
	}
}

// trouble returns what went wrong so far, and forgets it.
func (b *tab) trouble() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.problems
	b.problems = nil
	return p
}

// loaded returns the URLs requested so far, and forgets them.
func (b *tab) loaded() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.requests
	b.requests = nil
	return r
}

// limit bounds one step.
func (b *tab) limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, patience)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if chromedp.FromContext(b.ctx).Target == nil { // the first step must not have a deadline
		if err := chromedp.Do(b.ctx); err != nil {
			b.t.Fatal(err)
		}
	}
	ctx, cancel := b.limit()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
}

// send runs a protocol command on the tab.
func send[P, R any](b *tab, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := b.limit()
	defer cancel()
	r, err := chromedp.Call(ctx, c, params)
	if err != nil {
		b.t.Fatalf("%s: %v", c.Method, err)
	}
	return r
}

// open navigates, as by the address bar, and waits for the page.
func (b *tab) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

func (b *tab) url() string {
	b.t.Helper()
	ctx, cancel := b.limit()
	defer cancel()
	u, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// eval returns the value of a JavaScript expression, awaiting a promise.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := b.limit()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait returns once a JavaScript condition holds, across navigations.
func (b *tab) wait(condition string) {
	b.t.Helper()
	ctx, cancel := b.limit()
	defer cancel()
	for {
		// An error means that the page is just being replaced.
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+condition+")"))
		if err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.documentElement.innerText.slice(0, 600)`))
			b.t.Fatalf("never came true: %s (%v)\n%s\n%q", condition, err, text, b.trouble())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// at waits for a page whose URL starts with prefix to be complete.
func (b *tab) at(prefix string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`location.href.startsWith(%s) && document.readyState === "complete"`, quote(prefix)))
}

// quote writes a JavaScript string.
func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return string(raw)
}

// click presses the mouse in the middle of the first element that matches,
// once that is what is there to be hit.
func (b *tab) click(css string) {
	b.t.Helper()
	b.wait(fmt.Sprintf(`(() => {
		const e = document.querySelector(%s)
		if (!e || document.readyState !== "complete") return false
		if (!performance.getEntriesByName("first-contentful-paint").length) return false // input before it is dropped
		e.scrollIntoView({block: "center", behavior: "instant"})
		const r = e.getBoundingClientRect(), hit = document.elementFromPoint(r.x + r.width/2, r.y + r.height/2)
		return hit && e.contains(hit)
	})()`, quote(css)))
	at := eval[[]float64](b, fmt.Sprintf(`(() => { const r = document.querySelector(%s).getBoundingClientRect(); return [r.x + r.width/2, r.y + r.height/2] })()`, quote(css)))
	b.do(chromedp.MouseClickXY(at[0], at[1]))
}

// fill types into the first element that matches, replacing what is there.
func (b *tab) fill(css, text string) {
	b.t.Helper()
	b.click(css)
	eval[bool](b, fmt.Sprintf(`document.querySelector(%s).select() ?? true`, quote(css)))
	b.write(text)
}

// write types text into what has the focus.
func (b *tab) write(text string) {
	b.t.Helper()
	send(b, input.InsertText, input.InsertTextParams{Text: text})
}

// key presses one key, as chromedp/kb names it.
func (b *tab) key(k string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(k))
}

// scripts switches JavaScript on or off for pages to come.
func (b *tab) scripts(on bool) {
	b.t.Helper()
	send(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// colours makes the pages dark or light.
func (b *tab) colours(scheme string) {
	b.t.Helper()
	send(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// size sets the viewport, in CSS pixels.
func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// cookies returns the browser's cookies for a URL, by name.
func (b *tab) cookies(url string) map[string]string {
	b.t.Helper()
	all := map[string]string{}
	for _, c := range send(b, network.GetCookies, network.GetCookiesParams{URLs: []string{url}}).Cookies {
		all[c.Name] = c.Value
	}
	return all
}

// text is what a person reads on the page.
func (b *tab) text() string {
	b.t.Helper()
	return eval[string](b, `document.body.innerText`)
}

func (b *tab) shows(parts ...string) {
	b.t.Helper()
	text := b.text()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			b.t.Errorf("%s does not show %q:\n%s", b.url(), p, text)
		}
	}
}

// foreign returns the requests that left the given origins.
func foreign(requests []string, origins ...string) []string {
	return slices.DeleteFunc(requests, func(u string) bool {
		return strings.HasPrefix(u, "data:") || slices.ContainsFunc(origins, func(o string) bool {
			return u == o || strings.HasPrefix(u, o+"/")
		})
	})
}
