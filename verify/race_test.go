package verify

import (
	"strings"
	"sync"
	"sync/atomic"

	"authsvc"
	"authsvc/internal/arena"
)

// crowd is how many come at once.
const crowd = 64

var raceChecks = checks{
	"01": {title: "one link, many clicks: one gets in", once: true, run: race01},
}

// together runs n copies of f at once.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		all.Go(func() { <-gate; f(i) })
	}
	close(gate)
	all.Wait()
}

// raced runs rounds on each store with each strategy.
func raced(t *T, round func(t *T, w *arena.World)) {
	rounds := t.Scale("rounds of 64 clients a store and strategy", 1, 5, 200)
	t.Stores(func(t *T, kind arena.Kind) {
		t.Strategies(func(t *T, strategy string) {
			w := t.Enter(func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = kind.Open(t), strategy })
			for range rounds {
				round(t, w)
			}
		})
	})
}

func race01(t *T) {
	raced(t, func(t *T, w *arena.World) {
		asked := w.Browser()
		asked.Post("/api/auth/signin/email", "email", "ada@app.test")
		link := arena.Link(t, w.Mail.Next(t))
		var in, refused atomic.Int64
		together(crowd, func(int) {
			b := asked.Clone()
			switch a := b.Get(link); {
			case a.Location() == arena.Origin && b.Email() == "ada@app.test":
				in.Add(1)
			case strings.Contains(a.Location(), "error=Verification") && b.Email() == "":
				refused.Add(1)
			default:
				t.Errorf("%d %s", a.StatusCode, a.Location())
			}
		})
		if in.Load() != 1 || refused.Load() != crowd-1 {
			t.Errorf("%d in, %d refused", in.Load(), refused.Load())
		}
	})
}
