package engine

import (
	"context"
	"time"

	"authsvc"
)

// NotifyAddress tells a user about a change of address, with a link that restores the
// former one.
func (s *Service) NotifyAddress(ctx context.Context, u authsvc.User, former string, proved time.Time) {
	s.mailing.notify(ctx, notice{what: "address", user: u, name: u.Email, to: former, undo: &undoable{Address: former, Verified: proved}})
}
