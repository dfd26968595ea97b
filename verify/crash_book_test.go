package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// A crashBook records the acknowledgements of a service, outside the service.
// Requests in progress when it was killed are not recorded: they were not
// acknowledged.
type crashBook struct {
	t    *T
	near *process.Neighbours
	base string
	net  http.RoundTripper

	// strict means that only the killed service itself may make a request fail.
	strict bool

	// excused, if set, replaces strict: it reports which errors are acceptable.
	excused func(error) bool

	logs    *arena.LogBuffer // the service's log, to explain a failure
	numbers atomic.Int64

	mu       sync.Mutex
	alive    []crashVisit // signed in
	dead     []crashVisit // signed out
	redeemed []crashLink
	linked   []crashVisit // each sub belongs to the user with the address
	spares   []string     // identities not yet linked to an account
}

// A crashVisit is a browser and its user.
type crashVisit struct {
	visitor      *browser.Browser
	address, sub string
}

// A crashLink is a redeemed link, with a copy of the requesting browser from before.
type crashLink struct {
	visitor *browser.Browser
	link    string
}

// crashPeople is the number of identities that sign in repeatedly, crashSpares the
// number that are linked once.
const crashPeople, crashSpares = 240, 240

func newCrashBook(t *T, near *process.Neighbours, p *process.Process) *crashBook {
	t.Helper()
	b := &crashBook{t: t, near: near, base: p.URL, logs: p.Logs, net: &http.Transport{MaxIdleConnsPerHost: 20}, strict: true}
	for i := range crashPeople + crashSpares {
		sub := fmt.Sprintf("p%d", i)
		if _, err := near.OP.AddPerson(idp.Person{Sub: sub, Name: sub, Email: sub + "@people.test", EmailVerified: true}); err != nil {
			t.Fatal(err)
		}
		if i >= crashPeople {
			b.spares = append(b.spares, sub)
		}
	}
	return b
}

func (b *crashBook) visitor() *browser.Browser { return browser.New(b.base, b.net) }

// copied returns another browser with the same cookies.
func (b *crashBook) copied(v *browser.Browser) *browser.Browser {
	c := b.visitor()
	at, err := url.Parse(v.Base + "/")
	if err != nil {
		panic(err) // the base has been parsed before
	}
	c.Client.Jar.SetCookies(at, v.Client.Jar.Cookies(at))
	return c
}

func (b *crashBook) note(list *[]crashVisit, v crashVisit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*list = append(*list, v)
}

// arrived returns the number of signed-in browsers.
func (b *crashBook) arrived() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.alive)
}

// load makes visitors sign in and out until the returned function is called.
func (b *crashBook) load(workers int) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := b.journey(ctx); err != nil {
					b.judge(err)
					time.Sleep(2 * time.Millisecond)
				}
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// judge reports an error that the kill does not explain.
func (b *crashBook) judge(err error) {
	if b.excused != nil {
		if !b.excused(err) && !errors.Is(err, context.Canceled) {
			b.t.Errorf("%v\n%s", err, b.said(err.Error()))
		}
		return
	}
	var broken *url.Error
	if !b.strict || errors.As(err, &broken) || errors.Is(err, context.Canceled) || strings.Contains(err.Error(), ": 503 ") {
		return
	}
	b.t.Errorf("with a healthy store: %v\n%s", err, b.said(err.Error()))
}

// said returns the log lines of the request that a redirect to the error page names.
func (b *crashBook) said(text string) string {
	_, id, found := strings.Cut(text, "request=")
	if !found || b.logs == nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(b.logs.String()) {
		if strings.Contains(line, strings.Fields(id)[0]) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func (b *crashBook) journey(ctx context.Context) error {
	n := b.numbers.Add(1)
	switch n % 5 {
	case 0, 1:
		return b.byProvider(n)
	case 2:
		return b.out(n)
	case 3:
		v, err := b.byMail(ctx, n)
		if err == nil {
			b.note(&b.alive, crashVisit{v, crashAddress(n), ""})
		}
		return err
	default:
		return b.link(ctx, n)
	}
}

func (b *crashBook) byProvider(n int64) error {
	sub := fmt.Sprintf("p%d", n%crashPeople)
	v := b.visitor()
	if err := v.SignIn(b.near.OP, sub); err != nil {
		return err
	}
	b.note(&b.alive, crashVisit{v, sub + "@people.test", sub})
	return nil
}

// out signs in and out again.
func (b *crashBook) out(n int64) error {
	sub := fmt.Sprintf("p%d", n%crashPeople)
	v := b.visitor()
	if err := v.SignIn(b.near.OP, sub); err != nil {
		return err
	}
	before := b.copied(v)
	if err := v.SignOut(); err != nil {
		return err
	}
	b.note(&b.dead, crashVisit{visitor: before})
	return nil
}

func (b *crashBook) byMail(ctx context.Context, n int64) (*browser.Browser, error) {
	address := crashAddress(n)
	v := b.visitor()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	link, err := v.AskForLink(ctx, b.near.Box, address)
	if err != nil {
		return nil, err
	}
	before := b.copied(v)
	if err := v.Open(link); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.redeemed = append(b.redeemed, crashLink{before, link})
	return v, nil
}

func crashAddress(n int64) string { return fmt.Sprintf("m%d@mail.test", n) }

// link signs up by mail and links an identity to that user. Linking replaces the
// session, so only the new session is recorded.
func (b *crashBook) link(ctx context.Context, n int64) error {
	v, err := b.byMail(ctx, n)
	if err != nil {
		return err
	}
	sub, err := b.spare()
	if err != nil {
		return nil // all are used
	}
	a, err := v.Post("/api/auth/signin/op", "link", "true", "callbackUrl", "/account")
	if err != nil {
		return err
	}
	answer, err := b.near.OP.Approve(a.Location(), sub)
	if err != nil {
		return fmt.Errorf("signin/op: %d %.200s: %w", a.StatusCode, a.Text, err)
	}
	if a, err = v.Get(answer.URL()); err != nil {
		return err
	}
	if a.Location() != b.base+"/account" {
		return fmt.Errorf("callback/op: %d %s", a.StatusCode, a.Location())
	}
	b.note(&b.alive, crashVisit{v, crashAddress(n), ""})
	b.note(&b.linked, crashVisit{address: crashAddress(n), sub: sub})
	return nil
}

var errCrashNoSpare = errors.New("no identity is left")

func (b *crashBook) spare() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.spares) == 0 {
		return "", errCrashNoSpare
	}
	sub := b.spares[0]
	b.spares = b.spares[1:]
	return sub, nil
}

// size describes how much was acknowledged.
func (b *crashBook) size() string {
	return fmt.Sprintf("%d sign-ins, %d sign-outs, %d links redeemed, %d accounts linked: all kept", len(b.alive)+len(b.dead), len(b.dead), len(b.redeemed), len(b.linked))
}

// sample checks a few records of each kind, including the newest.
func (b *crashBook) sample() { b.check(2) }

// all checks everything.
func (b *crashBook) all() { b.check(-1) }

func (b *crashBook) check(n int) {
	b.t.Helper()
	for _, s := range crashSome(b.alive, n) {
		if got, err := s.visitor.Email(); got != s.address || err != nil {
			b.t.Errorf("%s was signed in and is %q, %v", s.address, got, err)
		}
	}
	for _, s := range crashSome(b.dead, n) {
		if got, err := s.visitor.Email(); got != "" || err != nil {
			b.t.Errorf("signed out, and is %q, %v", got, err)
		}
	}
	for _, s := range crashSome(b.redeemed, n) {
		a, err := s.visitor.Get(s.link)
		if err != nil || !strings.Contains(a.Location(), "error=Verification") {
			b.t.Errorf("a redeemed link: %+v, %v", a, err)
		}
	}
	for _, s := range crashSome(b.linked, n) {
		v := b.visitor()
		err := v.SignIn(b.near.OP, s.sub)
		if got, emailErr := v.Email(); got != s.address || err != nil || emailErr != nil {
			b.t.Errorf("%s was linked to %s and is %q, %v", s.sub, s.address, got, errors.Join(err, emailErr))
		}
	}
}

// crashSome returns the last element of a list and n-1 random ones; -1 means all.
func crashSome[E any](list []E, n int) []E {
	if n < 0 || len(list) <= n {
		return list
	}
	some := slices.Clone(list[len(list)-1:])
	for range n - 1 {
		some = append(some, list[rand.IntN(len(list))])
	}
	return some
}
