package chromium

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Patience is how long a condition may take to come true; the machine may be
// busy with other tests.
const Patience = time.Minute

// A Tab is one tab of the browser. What goes wrong in it is collected.
type Tab struct {
	T   testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string // console errors, exceptions, violated policies
	requests []string // URLs, in order
}

// Sibling opens another tab with the same cookies.
func (b *Tab) Sibling() *Tab {
	b.T.Helper()
	return openTab(b.T, b.ctx)
}

func openTab(t testing.TB, parent context.Context, o ...chromedp.ContextOption) *Tab {
	t.Helper()
	b := &Tab{T: t}
	var cancel context.CancelFunc
	b.ctx, cancel = chromedp.NewContext(parent, o...)
	t.Cleanup(cancel)
	b.Do(chromedp.EmulateViewport(1100, 860))
	if err := chromedp.Listen(b.ctx, b.record); err != nil {
		t.Fatal(err)
	}
	Send(b, audits.Enable, cdp.Empty{})
	return b
}

// record collects events. It must return fast.
func (b *Tab) record(ev any) {
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

// Quiet fails if anything went wrong in the tab so far, and forgets it.
func (b *Tab) Quiet() {
	b.T.Helper()
	for _, p := range b.Trouble() {
		b.T.Errorf("in the browser at %s: %s", b.URL(), p)
	}
}

// Trouble returns what went wrong so far, and forgets it.
func (b *Tab) Trouble() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.problems
	b.problems = nil
	return p
}

// Loaded returns the URLs requested so far, and forgets them.
func (b *Tab) Loaded() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.requests
	b.requests = nil
	return r
}

// Foreign returns the requests that left the given origins.
func Foreign(requests []string, origins ...string) []string {
	return slices.DeleteFunc(requests, func(u string) bool {
		return strings.HasPrefix(u, "data:") || slices.ContainsFunc(origins, func(o string) bool {
			return u == o || strings.HasPrefix(u, o+"/")
		})
	})
}
