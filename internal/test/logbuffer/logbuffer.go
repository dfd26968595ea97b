// Package logbuffer collects what a service or a program logs during a test.
package logbuffer

import (
	"strings"
	"sync"
)

// A Buffer collects what is written to it. It may be read at any time, and used
// by several goroutines. The zero value is empty and ready for use.
type Buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer]; it never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns everything that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Reset makes the buffer empty.
func (b *Buffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}
