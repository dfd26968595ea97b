package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
)

// email11 checks what a person can learn about an address by requesting links. SMTP
// hangs throughout.
func email11(t *T) {
	n := t.Scale("requests for each kind of address", 200, 1000, 2000)
	for _, kind := range stores.All()[:2] {
		t.Run(kind.Name, func(t *T) {
			over := make(chan struct{})
			w := t.EnterOffline(func(c *authsvc.Config) {
				c.Adapter = kind.Open(t)
				c.Providers[0] = &authsvc.Email{From: "Acme <no-reply@app.test>", Send: func(context.Context, authsvc.Message) error {
					<-over
					return authsvc.ErrMailRefused
				}}
				c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
					if strings.HasPrefix(a.User.Email, "blocked") {
						return "", errors.New("no")
					}
					return "", nil
				}
			})
			t.Cleanup(func() { close(over) })
			for _, address := range []string{"unverified@app.test", "blocked@app.test", "knownuser@app.test"} {
				u := authsvc.User{ID: address, Email: address}
				if address == "knownuser@app.test" {
					u.EmailVerified = time.Now()
				}
				if _, err := w.Store.CreateUser(t.Context(), u, nil); err != nil {
					t.Fatal(err)
				}
			}
			emailSameAnswers(t, w)
			emailSameTimes(t, w, n, func(b *arena.Browser, address, token string) (time.Duration, bool) {
				began := time.Now()
				a := b.Post("/api/auth/signin/email", "email", address, "csrfToken", token)
				return time.Since(began), strings.Contains(a.Location(), "/verify-request")
			})
		})
	}
}

// emailKinds have equal lengths, because the answer's cookie contains the address.
var emailKinds = []string{"knownuser@app.test", "stranger1@app.test", "blocked@app.test", "unverified@app.test"}

func emailSameAnswers(t *T, w *arena.World) {
	t.Helper()
	shapes := map[string][]string{}
	for _, address := range emailKinds {
		b := w.Browser()
		token := b.CSRF()
		w.Ledger.BreakAt(nil)
		before := len(w.Ledger.Written())
		a := b.Post("/api/auth/signin/email", "email", address, "csrfToken", token)
		page := b.Get(a.Location())
		var cookies []string
		for _, c := range a.Cookies() {
			cookies = append(cookies, c.Name)
		}
		a.Header.Del("Set-Cookie")
		same := strings.NewReplacer(address, "ADDRESS", b.CSRF(), "TOKEN")
		text := regexp.MustCompile(`data-seconds="\d+"`).ReplaceAllString(same.Replace(a.Text+page.Text), "") // two answers may come a second apart
		shape := fmt.Sprint(a.StatusCode, a.Header, cookies, text, len(w.Ledger.Written())-before)
		shapes[shape] = append(shapes[shape], address)
	}
	if len(shapes) != 1 {
		t.Errorf("answers differ: %v", shapes)
	}
}

// emailTries is the number of times that a difference must show. Other processes
// cause some by chance; a real one always shows.
const emailTries = 4

// An emailTimed requests something for an address. It returns the time taken, and
// whether the answer was right.
type emailTimed func(b *arena.Browser, address, token string) (took time.Duration, ok bool)

// emailSameTimes compares the times of requests for the kinds of address.
func emailSameTimes(t *T, w *arena.World, n int, request emailTimed) {
	t.Helper()
	gaps := map[string][]time.Duration{}
	for try := 1; try <= emailTries; try++ {
		differ := emailDiffering(t, w, n, request)
		for name, gap := range differ {
			gaps[name] = append(gaps[name], gap)
		}
		if !measures() {
			return
		}
		maps.DeleteFunc(gaps, func(_ string, all []time.Duration) bool { return len(all) < try })
		if len(gaps) == 0 {
			return
		}
	}
	for name, all := range gaps {
		t.Errorf("%s: medians %v apart", name, all)
	}
}

// emailDiffering returns the kinds of address whose request times differ from the
// first kind's, with the difference of the medians.
func emailDiffering(t *T, w *arena.World, n int, request emailTimed) map[string]time.Duration {
	t.Helper()
	b := w.Browser()
	token := b.CSRF()
	times := make([][]float64, len(emailKinds)+1) // the last is the first kind again
	for i := range n + 20 {
		for _, j := range rand.Perm(len(times)) {
			c := b.Clone()
			took, ok := request(c, emailKinds[j%len(emailKinds)], token)
			if !ok {
				t.Fatalf("another answer\n%.500s", w.Logs)
			}
			if i >= 20 {
				times[j] = append(times[j], took.Seconds())
			}
		}
	}
	differ := map[string]time.Duration{}
	known := times[0]
	for j, other := range times[1:] {
		gap := math.Abs(emailMedian(known) - emailMedian(other))
		p := emailSameDistribution(known, other)
		name := emailKinds[(j+1)%len(emailKinds)]
		t.Figure("%s: %s and %s: %s", w.T.Name()[strings.LastIndex(w.T.Name(), "/")+1:], emailKinds[0], name, emailVerdict(gap, p))
		if emailMeasurable(gap, p) {
			differ[name] = time.Duration(gap * 1e9)
		}
	}
	return differ
}

// emailCarried is the smallest difference of medians that matters, in seconds:
// without a network in between, the test detects any difference.
const emailCarried = 500e-6

func emailMedian(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// emailChance is the p-value below which two kinds of request take different times.
const emailChance = 0.01

// emailMeasurable reports whether a client can tell two kinds of request apart by
// their times. gap is the difference of the medians in seconds, p the result of
// emailSameDistribution, which detects microseconds. A difference below emailCarried
// does not survive a network.
func emailMeasurable(gap, p float64) bool { return p < emailChance && gap > emailCarried }

// emailVerdict says so in words, for docs/security.md.
func emailVerdict(gap, p float64) string {
	switch {
	case emailMeasurable(gap, p):
		return fmt.Sprintf("%.0f µs apart, which a client can measure", gap*1e6)
	case p < emailChance:
		return fmt.Sprintf("%.0f µs apart, too little to measure through a network", gap*1e6)
	}
	return "no difference"
}

func TestEmailVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gap, p float64
		want   string
	}{
		{0, 0.99, "no difference"},
		{1, emailChance, "no difference"}, // however large the gap is: equal requests do that
		{15e-6, 4e-11, "15 µs apart, too little to measure through a network"},
		{emailCarried, 0.0099, "500 µs apart, too little to measure through a network"},
		{emailCarried + 1e-6, 0.0099, "501 µs apart, which a client can measure"},
	} {
		if got := emailVerdict(c.gap, c.p); got != c.want {
			t.Errorf("%v, %v: %s", c.gap, c.p, got)
		}
	}
}

// emailSameDistribution returns the p-value of the two-sample Kolmogorov–Smirnov
// test.
func emailSameDistribution(a, b []float64) float64 {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	d := 0.0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			i, j = i+1, j+1
		}
		d = max(d, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	n := math.Sqrt(float64(len(a)) * float64(len(b)) / float64(len(a)+len(b)))
	x := (n + 0.12 + 0.11/n) * d
	p := 0.0
	for k := 1.0; k <= 100; k++ {
		p += 2 * math.Pow(-1, k-1) * math.Exp(-2*k*k*x*x)
	}
	return min(max(p, 0), 1)
}

// email12 tests the limit "5/h": five at once, then one every twelve minutes (see
// docs/configuration.md). The first hour can have nine, but an attacker who floods a
// mailbox gets five.
func email12(t *T) {
	emailBubble(t, func(t *T) {
		w := t.EnterOffline(func(c *authsvc.Config) { c.RateLimit.Disabled = false })
		answers := map[string]bool{}
		ask := func(i int, address string) int {
			b := w.Browser()
			b.IP = fmt.Sprintf("198.51.%d.%d:1", i/250, i%250)
			a := b.Post("/api/auth/signin/email", "email", address)
			if a.StatusCode != http.StatusTooManyRequests {
				answers[fmt.Sprint(a.StatusCode, a.Location(), a.Text)] = true
			}
			return a.StatusCode
		}
		for i := range 1000 {
			if ask(i%100, "victim@app.test") == http.StatusTooManyRequests {
				t.Fatal("ten of one client are too many")
			}
			time.Sleep(500 * time.Millisecond) // so this takes eight minutes
		}
		synctest.Wait()
		if n := w.Mail.Count(); n != 5 {
			t.Errorf("%d mails", n)
		}
		for i := range 5 * 60 { // and continues for five hours
			ask(i%100, "victim@app.test")
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if n := w.Mail.Count(); n > 5+26 {
			t.Errorf("%d mails in five hours", n)
		}
		before, limited := w.Mail.Count(), 0
		for i := range 100 { // one client, many mailboxes
			if ask(200, fmt.Sprintf("someone%d@app.test", i)) == http.StatusTooManyRequests {
				limited++
			}
		}
		synctest.Wait()
		if n := w.Mail.Count() - before; n != 30 || limited != 70 {
			t.Errorf("one client: %d mails, %d refused", n, limited)
		}
		if len(answers) != 1 {
			t.Errorf("answers differ: %v", answers)
		}
	})
	emailBubble(t, func(t *T) { // many clients, many mailboxes
		w := t.EnterOffline(func(c *authsvc.Config) { c.RateLimit.Disabled = false })
		ask := func(from, to int) {
			for i := from; i < to; i++ {
				b := w.Browser()
				b.IP = fmt.Sprintf("198.51.%d.%d:1", i/250, i%250)
				if a := b.Post("/api/auth/signin/email", "email", fmt.Sprintf("someone%d@app.test", i)); !strings.Contains(a.Location(), "/verify-request") {
					t.Fatalf("%d: %d %s", i, a.StatusCode, a.Location())
				}
			}
		}
		ask(0, 1300)
		synctest.Wait()
		if n := w.Mail.Count(); n != 800 { // the rest is kept for browsers known at the address
			t.Errorf("%d mails in all", n)
		}
		time.Sleep(5 * time.Minute)
		if n := w.Mail.Count(); n != 800 {
			t.Errorf("%d mails in all when those past the limit were refused", n)
		}
		ask(1300, 1400)
		synctest.Wait()
		if n := w.Mail.Count(); n < 860 || n > 870 {
			t.Errorf("twin: %d mails in all, five minutes later", n)
		}
	})
}

// email14 guesses from one client. Without limits, it measures whether a guess that
// starts like the token takes longer.
func email14(t *T) {
	emailBubble(t, func(t *T) {
		guesses := t.Scale("guesses", 1000, 5000, 100_000)
		w := t.EnterOffline(func(c *authsvc.Config) { c.RateLimit.Disabled = false })
		b := w.Browser()
		link := emailAsk(t, w, b, "ada@app.test")
		token := b.CSRF()
		looked, audits := 0, w.Audits.Load()
		guesser := b.Clone()
		guesser.IP = "203.0.113.99:1"
		for i := range guesses {
			a := guesser.Post("/api/auth/callback/email", "csrfToken", token, "email", "ada@app.test", "token", fmt.Sprintf("%043d", i))
			if a.StatusCode != http.StatusTooManyRequests {
				looked++
			} else if a.Header.Get("Retry-After") == "" {
				t.Fatal("no Retry-After")
			}
		}
		if looked != 30 {
			t.Errorf("%d guesses were judged", looked)
		}
		if n := w.Audits.Load() - audits; n != 2 || !strings.Contains(w.Logs.String(), "event=request.limited") {
			t.Errorf("%d events", n)
		}
		if b.Get(link); b.Email() != "ada@app.test" {
			t.Error("twin: the owner's link does not work")
		}
	})
	n := t.Scale("guesses of each kind measured", 200, 1000, 10_000)
	w := t.EnterOffline(nil)
	b := w.Browser()
	token := emailQuery(t, emailAsk(t, w, b, "ada@app.test")).Get("token")
	csrf := b.CSRF()
	kinds := []string{strings.Repeat("A", 43), token[:42] + "_", token[:20] + strings.Repeat("A", 23)}
	times := make([][]float64, len(kinds))
	for range n {
		for i, guess := range kinds {
			began := time.Now()
			a := b.Clone().Post("/api/auth/callback/email", "csrfToken", csrf, "email", "ada@app.test", "token", guess)
			times[i] = append(times[i], time.Since(began).Seconds())
			if !strings.Contains(a.Location(), "Verification") && guess != token {
				t.Fatalf("%d %s", a.StatusCode, a.Location())
			}
		}
	}
	for i, v := range times[1:] {
		gap, p := math.Abs(emailMedian(times[0])-emailMedian(v)), emailSameDistribution(times[0], v)
		shared := []int{42, 20}[i]
		t.Figure("a wrong guess and one with %d right characters: %s", shared, emailVerdict(gap, p))
		if measures() && (gap > 0.005 || emailMeasurable(gap, p)) {
			t.Errorf("guesses that share %d characters take %v longer, p %.2g", shared, time.Duration(gap*1e9), p)
		}
	}
}
