package servertest

import (
	"sync"
	"testing"
)

// A pool keeps prepared databases for later tests. Creating one takes ten times as
// long as restoring its rows.
type pool struct {
	create  func() string          // creates a database and returns its URL
	restore func(url string) error // after an error, the database cannot be reused
	mu      sync.Mutex
	spare   []string
}

// take returns a database that t may use until it ends.
func (p *pool) take(t testing.TB) string {
	t.Helper()
	url := p.kept()
	if url == "" {
		url = p.create()
	}
	t.Cleanup(func() {
		if p.restore(url) == nil {
			p.keep(url)
		}
	})
	return url
}

func (p *pool) kept() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spare) == 0 {
		return ""
	}
	last := p.spare[len(p.spare)-1]
	p.spare = p.spare[:len(p.spare)-1]
	return last
}

func (p *pool) keep(url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = append(p.spare, url)
}
