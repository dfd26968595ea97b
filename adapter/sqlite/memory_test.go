package sqlite

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"modernc.org/libc"
)

// TestOpenWritesToItsOwnMemory opens connections while others use blocks of the same
// heap. If the driver passes SQLite fewer arguments than it reads, SQLite takes what is
// left in a freed block for an address, and writes to it.
func TestOpenWritesToItsOwnMemory(t *testing.T) {
	t.Parallel()
	const pattern = 0x5a5a5a5a5a5a5a5a
	var opened atomic.Bool
	var changed atomic.Uint64
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			tls := libc.NewTLS()
			defer tls.Close()
			for !opened.Load() {
				var blocks [8]uintptr
				for i := range blocks {
					blocks[i] = libc.Xmalloc(tls, 8)
					*word(&blocks[i]) = pattern
				}
				for i := range blocks {
					if got := *word(&blocks[i]); got != pattern {
						changed.Store(got)
					}
					libc.Xfree(tls, blocks[i])
				}
			}
		})
	}
	for range 4000 {
		conn, err := newReaders(":memory:").open()
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	opened.Store(true)
	all.Wait()
	if got := changed.Load(); got != 0 {
		t.Errorf("SQLite has changed a block that is not its own to %#x", got)
	}
}

// word returns the eight bytes at an address outside of Go's heap.
func word(address *uintptr) *uint64 { return *(**uint64)(unsafe.Pointer(address)) }
