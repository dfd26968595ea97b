package chromium

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Limit returns a context that bounds one step.
func (b *Tab) Limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, Patience)
}

// Do runs protocol actions, bounded like any step.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	if chromedp.FromContext(b.ctx).Target == nil { // the first step must not have a deadline
		if err := chromedp.Do(b.ctx); err != nil {
			b.T.Fatal(err)
		}
	}
	ctx, cancel := b.Limit()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.T.Fatalf("in the browser: %v", err)
	}
}

// Send runs a protocol command on the tab.
func Send[P, R any](b *Tab, c cdp.Command[P, R], params P) R {
	b.T.Helper()
	ctx, cancel := b.Limit()
	defer cancel()
	r, err := chromedp.Call(ctx, c, params)
	if err != nil {
		b.T.Fatalf("%s: %v", c.Method, err)
	}
	return r
}

// Open navigates, as by the address bar, and waits for the page.
func (b *Tab) Open(url string) {
	b.T.Helper()
	b.Do(chromedp.Navigate(url))
}

// URL returns the tab's address.
func (b *Tab) URL() string {
	b.T.Helper()
	ctx, cancel := b.Limit()
	defer cancel()
	u, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		b.T.Fatal(err)
	}
	return u
}

// Eval returns the value of a JavaScript expression. It awaits a promise.
func Eval[T any](b *Tab, expression string) T {
	b.T.Helper()
	ctx, cancel := b.Limit()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.T.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Wait returns once a JavaScript condition is true, even across navigations.
func (b *Tab) Wait(condition string) {
	b.T.Helper()
	ctx, cancel := b.Limit()
	defer cancel()
	for {
		// An error means that the page is being replaced.
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+condition+")"))
		if err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.documentElement.innerText.slice(0, 600)`))
			b.T.Fatalf("never came true: %s (%v)\n%s\n%q", condition, err, text, b.Trouble())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// At waits until a page whose URL starts with prefix has loaded.
func (b *Tab) At(prefix string) {
	b.T.Helper()
	b.Wait(fmt.Sprintf(`location.href.startsWith(%s) && document.readyState === "complete"`, Quote(prefix)))
}

// Quote returns s as a JavaScript string literal.
func Quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil { // marshalling a string cannot fail
		panic(err)
	}
	return string(raw)
}

// Click presses the mouse in the middle of the first matching element, once no other
// element covers it.
func (b *Tab) Click(css string) {
	b.T.Helper()
	b.Wait(fmt.Sprintf(`(() => {
		const e = document.querySelector(%s)
		if (!e || document.readyState !== "complete") return false
		if (!performance.getEntriesByName("first-contentful-paint").length) return false // input before it is dropped
		e.scrollIntoView({block: "center", behavior: "instant"})
		const r = e.getBoundingClientRect(), hit = document.elementFromPoint(r.x + r.width/2, r.y + r.height/2)
		return hit && e.contains(hit)
	})()`, Quote(css)))
	at := Eval[[]float64](b, fmt.Sprintf(`(() => { const r = document.querySelector(%s).getBoundingClientRect(); return [r.x + r.width/2, r.y + r.height/2] })()`, Quote(css)))
	b.Do(chromedp.MouseClickXY(at[0], at[1]))
}

// Fill types into the first matching element and replaces its text.
func (b *Tab) Fill(css, text string) {
	b.T.Helper()
	b.Click(css)
	Eval[bool](b, fmt.Sprintf(`document.querySelector(%s).select() ?? true`, Quote(css)))
	b.Write(text)
}

// Write types text into the focused element.
func (b *Tab) Write(text string) {
	b.T.Helper()
	Send(b, input.InsertText, input.InsertTextParams{Text: text})
}

// Key presses one key, as chromedp/kb names it.
func (b *Tab) Key(k string) {
	b.T.Helper()
	b.Do(chromedp.KeyEvent(k))
}

// Text returns the text that a person reads on the page.
func (b *Tab) Text() string {
	b.T.Helper()
	return Eval[string](b, `document.body.innerText`)
}

// Shows fails unless the page's text contains all parts.
func (b *Tab) Shows(parts ...string) {
	b.T.Helper()
	text := b.Text()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			b.T.Errorf("%s does not show %q:\n%s", b.URL(), p, text)
		}
	}
}

// Script stores the value of a JavaScript expression in the variable that into points
// to. It awaits a promise.
func (b *Tab) Script(expression string, into any) {
	b.T.Helper()
	raw := Eval[json.RawMessage](b, expression)
	if err := json.Unmarshal(raw, into); err != nil {
		b.T.Fatalf("%s: %v", expression, err)
	}
}

// Back presses the back button.
func (b *Tab) Back() {
	b.T.Helper()
	history := Send(b, page.GetNavigationHistory, cdp.Empty{})
	Send(b, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: history.Entries[history.CurrentIndex-1].ID})
}
