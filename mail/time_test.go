package mail

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/quiet"
)

func TestContext(t *testing.T) {
	t.Parallel()
	box := listen(t, mailbox.Options{})
	box.Delay(time.Hour)
	send := sender(t, "smtp://"+box.Addr(), Options{})

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	if err := send(ctx, testMessage()); !errors.Is(err, context.Canceled) || errors.Is(err, authsvc.ErrMailRefused) {
		t.Errorf("cancelled on the way: %v", err)
	}
	if err := send(ctx, testMessage()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := send(ctx, testMessage()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline: %v", err)
	}
	if d := time.Since(start); d > quiet.Limit(3*time.Second) {
		t.Errorf("took %v", d)
	}
}

// TestTimeouts runs on a fake clock.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	took := func(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (time.Duration, error) {
		start := time.Now()
		err := sender(t, "smtp://localhost?starttls=off", Options{DialContext: dial})(t.Context(), testMessage())
		d := time.Since(start)
		time.Sleep(time.Minute) // the server's side ends, too
		return d, err
	}
	over := func(serve func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go serve(server)
			return client, nil
		}
	}
	t.Run("no connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, err := took(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			if d != dialTimeout || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v after %v", err, d)
			}
		})
	})
	t.Run("no greeting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, err := took(t, over(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }))
			if d != conversationTimeout || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v after %v", err, d)
			}
		})
	})
	t.Run("a byte a second", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, err := took(t, over(func(c net.Conn) {
				for {
					time.Sleep(time.Second)
					if _, err := c.Write([]byte("2")); err != nil {
						return
					}
				}
			}))
			if d != conversationTimeout || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v after %v", err, d)
			}
		})
	})
	t.Run("no good-bye", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var closed time.Duration
			d, err := took(t, over(func(c net.Conn) {
				play(&unclosed{c}, acceptAll[:len(acceptAll)-1])
				_, _ = io.Copy(io.Discard, c)
				closed = time.Since(start)
			}))
			synctest.Wait()
			if err != nil || d != 0 || closed != idleTime+quitTimeout {
				t.Errorf("%v after %v, closed after %v; want the delivery to count", err, d, closed)
			}
		})
	})
}

// An unclosed connection is closed by other code: its Close does nothing.
type unclosed struct{ net.Conn }

func (unclosed) Close() error { return nil }
