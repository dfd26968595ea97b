package adaptertest

import (
	"fmt"
	"testing"

	"authsvc"
	"authsvc/adapter"
)

// auditTests returns the tests for adapters that are also an authsvc.AuditLog.
func auditTests() []test {
	return []test{
		{"Audit/comes back as it was", auditFields},
		{"Audit/order and pages", auditPages},
		{"Audit/of a user", auditOfUser},
		{"Audit/again", auditAgain},
		{"Audit/concurrent", auditRace},
		{"Audit/sweep", auditSweep},
	}
}

func auditLog(t *testing.T, a adapter.Adapter) authsvc.AuditLog {
	t.Helper()
	if w, wraps := a.(Unwrapper); wraps {
		a = w.Unwrap()
	}
	l, keeps := a.(authsvc.AuditLog)
	if !keeps {
		t.Skip("the adapter is not an authsvc.AuditLog")
	}
	return l
}

func auditRecord(id string, seconds int) authsvc.AuditRecord {
	return authsvc.AuditRecord{ID: id, AuditEvent: authsvc.AuditEvent{Name: "sign_in.succeeded", Time: at(seconds), Outcome: authsvc.AuditSuccess}}
}

func listed(t *testing.T, l authsvc.AuditLog, since int, after string, limit int, want ...authsvc.AuditRecord) {
	t.Helper()
	got, err := l.ListAudit(t.Context(), authsvc.AuditQuery{Since: at(since), After: after, Limit: limit})
	ok(t, err)
	same(t, got, want)
}

func auditFields(t *testing.T, a adapter.Adapter) {
	l := auditLog(t, a)
	full := authsvc.AuditRecord{ID: "full", AuditEvent: authsvc.AuditEvent{Name: "sign_in.refused", Time: at(1), Outcome: authsvc.AuditRefused,
		Code: authsvc.CodeOAuthCallback, Reason: `"quoted" \ '; DROP TABLE x; -- <é> 𝛑`, Provider: "github", UserID: "user-1", Actor: "cli:root", ClientIP: "2001:db8::1",
		UserAgent: long("é")[:200], RequestID: "0123456789ab"}}
	bare := auditRecord("bare", 2)
	ok(t, l.PutAudit(t.Context(), nil))
	ok(t, l.PutAudit(t.Context(), []authsvc.AuditRecord{full, bare}))
	listed(t, l, 0, "", 10, full, bare)

	late := auditRecord("late", 3)
	late.Time = late.Time.Add(999_999) // fractions of a millisecond are dropped
	ok(t, l.PutAudit(t.Context(), []authsvc.AuditRecord{late}))
	listed(t, l, 3, "", 10, auditRecord("late", 3))
}

func auditPages(t *testing.T, a adapter.Adapter) {
	l := auditLog(t, a)
	one, two, three, last := auditRecord("1", 5), auditRecord("2", 5), auditRecord("3", 5), auditRecord("0", 6)
	ok(t, l.PutAudit(t.Context(), []authsvc.AuditRecord{last, two}))
	ok(t, l.PutAudit(t.Context(), []authsvc.AuditRecord{three, one}))
	listed(t, l, 0, "", 10, one, two, three, last)
	listed(t, l, 0, "", 2, one, two)
	listed(t, l, 5, "2", 2, three, last)
	listed(t, l, 5, "3", 2, last)
	listed(t, l, 4, "9", 1, one) // After only applies to records of the time Since
	listed(t, l, 6, "0", 2)
	listed(t, l, 7, "", 2)
	listed(t, l, 0, "", 0)
}

func auditOfUser(t *testing.T, a adapter.Adapter) {
	l := auditLog(t, a)
	of := func(user, id string, seconds int) authsvc.AuditRecord {
		r := auditRecord(id, seconds)
		r.UserID = user
		return r
	}
	one, two, three, last := of("ada", "1", 5), of("ada", "2", 5), of("ada", "4", 5), of("ada", "0", 6)
	all := []authsvc.AuditRecord{one, two, of("bob", "3", 5), three, of("", "5", 5), of("Ada", "6", 5), of("ada ", "7", 5), last}
	for i := range 600 { // more records of other users than a store reads at a time
		all = append(all, of("bob", fmt.Sprintf("b%03d", i), 5))
	}
	ok(t, l.PutAudit(t.Context(), all))
	for _, c := range []struct {
		q    authsvc.AuditQuery
		want []authsvc.AuditRecord
	}{
		{authsvc.AuditQuery{UserID: "ada", Limit: 10}, []authsvc.AuditRecord{one, two, three, last}},
		{authsvc.AuditQuery{UserID: "ada", Limit: 2}, []authsvc.AuditRecord{one, two}},
		{authsvc.AuditQuery{UserID: "ada", Since: at(5), After: "2", Limit: 2}, []authsvc.AuditRecord{three, last}},
		{authsvc.AuditQuery{UserID: "ada", Since: at(6), Limit: 2}, []authsvc.AuditRecord{last}},
		{authsvc.AuditQuery{UserID: "ada", Since: at(6), After: "0", Limit: 2}, nil},
		{authsvc.AuditQuery{UserID: "nobody", Limit: 10}, nil},
		{authsvc.AuditQuery{UserID: "ada"}, nil},
	} {
		got, err := l.ListAudit(t.Context(), c.q)
		ok(t, err)
		same(t, got, c.want)
	}
}

func auditAgain(t *testing.T, a adapter.Adapter) {
	l := auditLog(t, a)
	one, two := auditRecord("1", 5), auditRecord("2", 5)
	ok(t, l.PutAudit(t.Context(), []authsvc.AuditRecord{one}))
	ok(t, l.PutAudit(t.Context(), []authsvc.AuditRecord{one, two, one}))
	listed(t, l, 0, "", 10, one, two)
}

func auditRace(t *testing.T, a adapter.Adapter) {
	l := auditLog(t, a)
	nWin(t, race(workers, func(i int) error {
		return l.PutAudit(t.Context(), []authsvc.AuditRecord{auditRecord(fmt.Sprintf("%03d", i/2), i/2), auditRecord("shared", 0)})
	}), workers, nil)
	got, err := l.ListAudit(t.Context(), authsvc.AuditQuery{Since: at(0), Limit: 10 * workers})
	ok(t, err)
	same(t, len(got), workers/2+1)
}

func auditSweep(t *testing.T, a adapter.Adapter) {
	l := auditLog(t, a)
	var all []authsvc.AuditRecord
	for i := range 6 {
		all = append(all, auditRecord(fmt.Sprint(i), i))
	}
	ok(t, l.PutAudit(t.Context(), all))
	for _, step := range []struct{ before, limit, swept int }{{4, 0, 0}, {4, 3, 3}, {4, 3, 1}, {4, 3, 0}} {
		n, err := l.SweepAudit(t.Context(), at(step.before), step.limit)
		ok(t, err)
		same(t, n, step.swept)
	}
	listed(t, l, 0, "", 10, all[4:]...)
	n, err := a.Sweep(t.Context(), at(1000), 100) // only sweeps records that expire
	ok(t, err)
	same(t, n, 0)
	listed(t, l, 0, "", 10, all[4:]...)
}
