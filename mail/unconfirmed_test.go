package mail

import (
	"errors"
	"testing"

	"authsvc"
	"authsvc/internal/dev/mailbox"
)

// TestUnconfirmed checks that delivery is unconfirmed only if the answer was lost after
// the whole message.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  func(*mailbox.Server)
		unsure bool
		ok     bool
	}{
		"none":                 {func(*mailbox.Server) {}, false, true},
		"lost after the dot":   {func(s *mailbox.Server) { s.DropAfterData(1) }, true, false},
		"451 to the dot":       {func(s *mailbox.Server) { s.Fail(mailbox.Data, 451, 1) }, false, false},
		"552 to the dot":       {func(s *mailbox.Server) { s.Fail(mailbox.Data, 552, 1) }, false, false},
		"450 to the recipient": {func(s *mailbox.Server) { s.Fail(mailbox.Rcpt, 450, 1) }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := listen(t, mailbox.Options{})
			c.fault(box)
			err := sender(t, "smtp://"+box.Addr(), Options{})(t.Context(), testMessage())
			if errors.Is(err, authsvc.ErrMailUnconfirmed) != c.unsure || (err == nil) != c.ok {
				t.Errorf("%v", err)
			}
		})
	}
}
