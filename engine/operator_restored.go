package engine

import (
	"context"

	"authsvc"
)

// EndAllSessions ends the sessions of every user in the store, as EndSessions does, but
// sends no mail. It is for a store that was restored from a backup, in which sessions
// are valid that ended after the backup. It reads users in steps of 1000 and calls
// progress, unless nil, with the number of users so far. If progress returns an error,
// EndAllSessions stops and returns it. You can interrupt and repeat it. With dryRun, it
// only counts.
//
// With strategy jwt, it does not end sessions of users whom the store does not have,
// such as those who signed up after the backup. A new secret ends them, too.
func (o *Operator) EndAllSessions(ctx context.Context, dryRun bool, progress func(users int) error) (users int, err error) {
	for after := ""; ; {
		page, err := o.common.Adapter.ListUsers(ctx, after, rewritePage)
		if err != nil {
			return users, err
		}
		for _, u := range page {
			if !dryRun {
				if _, err := o.keeper.endAllSessions(ctx, u.ID); err != nil {
					o.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "sessions.end_failed", UserID: u.ID})
					return users, err
				}
				o.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "sessions.ended", UserID: u.ID})
			}
			after = u.ID
			users++
		}
		if progress != nil {
			if err := progress(users); err != nil {
				return users, err
			}
		}
		if len(page) < rewritePage {
			return users, nil
		}
	}
}
