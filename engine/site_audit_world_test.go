package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// An auditStore is a store in memory. A test can make single methods fail or panic.
type auditStore struct {
	*memory.Store
	broken atomic.Value // name of a method
}

func (s *auditStore) breaks(method string) error {
	switch s.broken.Load() {
	case method:
		return arena.ErrBroken
	case "panic in " + method:
		panic("of the test")
	}
	return nil
}

func (s *auditStore) GetUserByAccount(ctx context.Context, provider, id string) (authsvc.User, error) {
	if err := s.breaks("GetUserByAccount"); err != nil {
		return authsvc.User{}, err
	}
	return s.Store.GetUserByAccount(ctx, provider, id)
}

func (s *auditStore) GetUserByEmail(ctx context.Context, email string) (authsvc.User, error) {
	if err := s.breaks("GetUserByEmail"); err != nil {
		return authsvc.User{}, err
	}
	return s.Store.GetUserByEmail(ctx, email)
}

func (s *auditStore) DeleteSession(ctx context.Context, token string) (adapter.SessionRecord, error) {
	if err := s.breaks("DeleteSession"); err != nil {
		return adapter.SessionRecord{}, err
	}
	return s.Store.DeleteSession(ctx, token)
}

func (s *auditStore) EndSessions(ctx context.Context, id string, r *adapter.Revocation) (int, error) {
	if err := s.breaks("EndSessions"); err != nil {
		return 0, err
	}
	return s.Store.EndSessions(ctx, id, r)
}

func (s *auditStore) CreateSession(ctx context.Context, r adapter.SessionRecord) (adapter.SessionRecord, error) {
	if err := s.breaks("CreateSession"); err != nil {
		return adapter.SessionRecord{}, err
	}
	return s.Store.CreateSession(ctx, r)
}

func (s *auditStore) ListAccounts(ctx context.Context, id string) ([]authsvc.Account, error) {
	if err := s.breaks("ListAccounts"); err != nil {
		return nil, err
	}
	return s.Store.ListAccounts(ctx, id)
}

// audited is a world that collects its audit events.
type audited struct {
	*arena.World
	store    *auditStore
	mu       sync.Mutex
	recorded []authsvc.AuditEvent
	mark     int
}

func startAudited(t *testing.T, tune func(*authsvc.Config)) *audited {
	t.Helper()
	w := &audited{store: &auditStore{Store: memory.New()}}
	w.broken("")
	w.World = arena.Start(t, func(c *authsvc.Config) {
		c.Adapter, c.Audit.Store = w.store, true
		c.Events.Audit = func(_ context.Context, e authsvc.AuditEvent) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.recorded = append(w.recorded, e)
		}
		if tune != nil {
			tune(c)
		}
	})
	return w
}

func (w *audited) broken(method string) { w.store.broken.Store(method) }

// events returns the events since prepared was called.
func (w *audited) events() []authsvc.AuditEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.recorded[w.mark:])
}

func (w *audited) prepared() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark = len(w.recorded)
}

// user returns the id of the user with an address.
func (w *audited) user(address string) string {
	u, err := w.store.Store.GetUserByEmail(context.Background(), address)
	if err != nil {
		return "no user " + address
	}
	return u.ID
}

// accountID returns the name on the account page of the first account of the user with
// an address.
func (w *audited) accountID(address string) string {
	person, err := w.Service.Person(context.Background(), w.user(address))
	if err != nil || len(person.Accounts) == 0 {
		return "no account of " + address
	}
	return person.Accounts[0].ID
}

// await waits for an event that is recorded outside of requests.
func (w *audited) await(name string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if slices.ContainsFunc(w.events(), func(e authsvc.AuditEvent) bool { return e.Name == name }) {
			return
		}
	}
	w.T.Errorf("%s did not come", name)
}

func (w *audited) judge(t *testing.T, want []brief, began time.Time) {
	t.Helper()
	got := w.events()
	if last := len(got) - 1; last < 0 || got[last].Name != "service.stopped" || w.recorded[0].Name != "service.started" {
		t.Fatalf("no start or no end: %+v", w.recorded)
	} else {
		got = got[:last]
	}
	if len(got) != len(want) {
		t.Fatalf("want %d events, got %+v", len(want), got)
	}
	for i, e := range got {
		w.judgeOne(t, e, want[i], began)
	}
	stored, err := w.store.ListAudit(t.Context(), authsvc.AuditQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var kept []authsvc.AuditEvent
	for _, r := range stored {
		kept = append(kept, r.AuditEvent)
	}
	byRequest := cmpopts.SortSlices(func(a, b authsvc.AuditEvent) bool { return a.Name+a.RequestID+a.Reason < b.Name+b.RequestID+b.Reason })
	if diff := cmp.Diff(w.recorded, kept, byRequest); diff != "" {
		t.Errorf("stored (-called +stored):\n%s", diff)
	}
	if n := strings.Count(w.Logs.String(), " msg=audit event="); n != len(w.recorded) {
		t.Errorf("%d lines of %d events", n, len(w.recorded))
	}
}

func (w *audited) judgeOne(t *testing.T, e authsvc.AuditEvent, want brief, began time.Time) {
	t.Helper()
	user := ""
	if literal, ok := strings.CutPrefix(want.User, "="); ok {
		user = literal
	} else if want.User != "" {
		user = w.user(want.User)
	}
	if e.Name != want.Name || e.Code != want.Code || !strings.Contains(e.Reason, want.Reason) || e.Provider != want.Provider || e.UserID != user {
		t.Errorf("got  %+v\nwant %+v, user %q", e, want, user)
	}
	if e.Time.Location() != time.UTC || e.Time.Before(began.Truncate(time.Millisecond)) || e.Time.After(time.Now()) {
		t.Errorf("%s at %v", e.Name, e.Time)
	}
	from := [2]string{"203.0.113.7", "test agent"}
	if want.Apart || e.Name == "email.given_up" {
		from = [2]string{}
	} else if e.Name == "session.ended_by_provider" || strings.HasPrefix(e.Name, "backchannel_logout.") || strings.Contains(e.Reason, "logout tokens") {
		from[1] = "" // the provider's server
	}
	if got := [2]string{e.ClientIP, e.UserAgent}; got != from || (len(e.RequestID) == 12) == want.Apart {
		t.Errorf("%s from %q, request %q", e.Name, got, e.RequestID)
	}
	for _, suffix := range []string{"refused", "limited", "cross_site", "not_linked", "wrong_subject", "misaddressed"} {
		if strings.HasSuffix(e.Name, suffix) != (e.Outcome == authsvc.AuditRefused) && strings.HasSuffix(e.Name, suffix) {
			t.Errorf("%s is %s", e.Name, e.Outcome)
		}
	}
	if failed := strings.HasSuffix(e.Name, "failed") || e.Name == "email.given_up"; failed != (e.Outcome == authsvc.AuditFailed) {
		t.Errorf("%s is %s", e.Name, e.Outcome)
	}
}
