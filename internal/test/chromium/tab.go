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

// Patience limits the wait for a condition; other tests may keep the machine busy.
const Patience = time.Minute

// A Tab is one tab of the browser. It collects the errors of its pages.
type Tab struct {
	T   testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string // console errors, exceptions, policy violations
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
		// A 4xx status is an answer, not an error of the page.
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

// Quiet fails if the tab has recorded any error, and clears the record.
func (b *Tab) Quiet() {
	b.T.Helper()
	for _, p := range b.Trouble() {
		b.T.Errorf("in the browser at %s: %s", b.URL(), p)
	}
}

// Trouble returns the errors recorded so far and clears the record.
func (b *Tab) Trouble() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.problems
	b.problems = nil
	return p
}

// Loaded returns the URLs requested so far and clears the list.
func (b *Tab) Loaded() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.requests
	b.requests = nil
	return r
}

// Foreign returns the requests to other origins than the given ones.
func Foreign(requests []string, origins ...string) []string {
	return slices.DeleteFunc(requests, func(u string) bool {
		return strings.HasPrefix(u, "data:") || slices.ContainsFunc(origins, func(o string) bool {
			return u == o || strings.HasPrefix(u, o+"/")
		})
	})
}
