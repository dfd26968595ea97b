package verify

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"authsvc/internal/test/process"
)

// A crashRetry is a client that uses replicas in turn. It repeats a request that
// failed with its connection at the next replica.
type crashRetry struct {
	http.Transport
	all    []*process.Process
	tries  int // per request
	turn   atomic.Int64
	broken atomic.Int64 // requests without an answer that a replica may have handled
}

// RoundTrip implements [http.RoundTripper].
func (c *crashRetry) RoundTrip(r *http.Request) (res *http.Response, err error) {
	first := int(c.turn.Add(1))
	for try := range c.tries {
		again := r.Clone(r.Context())
		again.Host, again.URL.Host = r.URL.Host, c.all[(first+try)%len(c.all)].Addr
		if r.GetBody != nil {
			if again.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		if res, err = c.whole(again); err == nil {
			return res, nil
		}
		if !lifecycleUndialled(err) {
			c.broken.Add(1)
		}
	}
	return nil, err
}

// whole sends a request and reads the complete answer.
func (c *crashRetry) whole(r *http.Request) (*http.Response, error) {
	res, err := c.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	res.Body = io.NopCloser(strings.NewReader(string(body)))
	return res, err
}

// crashReplicas repeatedly kills one of two replicas. After the retry, no request may
// fail, except sign-ins whose request was in flight.
func crashReplicas(t *T, env []string, kills int) {
	t.Helper()
	near := process.NewNeighbours(t)
	one := process.Serve(t, near.YAML(""), env...)
	two := process.Serve(t, strings.ReplaceAll(near.YAML(""), "{origin}", one.URL), env...)
	b := newCrashBook(t, near, one)
	client := &crashRetry{all: []*process.Process{one, two}, tries: 2}
	client.DisableKeepAlives = true // net/http repeats requests on a kept connection itself, uncounted
	b.net = client
	var refused atomic.Int64
	b.excused = func(err error) bool {
		var lost *url.Error
		return !errors.As(err, &lost) && refused.Add(1) <= client.broken.Load()
	}
	stop := b.load(4)
	for i := range kills {
		time.Sleep(100*time.Millisecond + rand.N(300*time.Millisecond))
		p := client.all[i%2]
		p.Kill()
		time.Sleep(100 * time.Millisecond)
		p.Start()
		p.Ready(patience)
	}
	stop()
	b.all()
	storeWhole(t, storeAt(t, env))
	t.Figure("one of two replicas killed: %d requests in flight, %d sign-ins repeated; %s", client.broken.Load(), refused.Load(), b.size())
}
