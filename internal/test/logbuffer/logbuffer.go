// Package logbuffer collects the log of a service or program during a test.
package logbuffer

import (
	"strings"
	"sync"
)

// A Buffer collects the text written to it. Several goroutines may use it and read it
// at any time. The zero value is empty and ready to use.
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

// String returns everything written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Reset empties the buffer.
func (b *Buffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}
