package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
)

// exportedJSON is the file of GET account/export.
type exportedJSON struct {
	User                 struct{ ID, Name, Email string }
	Accounts             []struct{ Provider, ID, Type string }
	Passkeys             []struct{ Name string }
	Password, SecondStep bool
	Sessions             []struct{ Device, Provider string }
	Application          any
	Events               []struct{ Name, Reason, User, Actor string }
}

func exported(t *testing.T, text string) (e exportedJSON) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return e
}

func TestExport(t *testing.T) {
	t.Parallel()
	configure := func(c *authsvc.Config) {
		c.Callbacks.Export = func(_ context.Context, u authsvc.User) (any, error) {
			return map[string]string{"notes of": u.Email}, nil
		}
	}
	strategies(t, configure, func(t *testing.T, w *arena.World) {
		b, other := w.Browser(), w.Browser()
		if a := b.Get("/api/auth/account/export"); !strings.Contains(a.Location(), "/signin?") {
			t.Errorf("no session: %d %s", a.StatusCode, a.Location())
		}
		b.SignIn(w.OP, "ada")
		other.SignIn(w.OP, "grace")
		id := readAccount(t, b).User.ID
		for _, c := range []adapter.Credential{{Kind: adapter.CredentialPasskey, ID: "p", Name: "Laptop"}, {Kind: adapter.CredentialPassword, ID: "w"}} {
			c.UserID, c.Data, c.Created = id, []byte("sealed-secret"), time.Now()
			u, err := w.Store.GetUser(t.Context(), id)
			if err == nil {
				err = w.Store.PutCredential(t.Context(), c, u.Epoch, 1)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		a := b.Get("/api/auth/account/export")
		disposition := a.Header.Get("Content-Disposition")
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(disposition, `attachment; filename="account-20`) || a.Header.Get("Content-Type") != "application/json; charset=utf-8" ||
			a.Header.Get("Cache-Control") != "private, no-cache, no-store" {
			t.Errorf("%d %v", a.StatusCode, a.Header)
		}
		e := exported(t, a.Text)
		if e.User.ID != id || e.User.Email != "ada@example.com" || len(e.Accounts) != 1 || e.Accounts[0].ID != "ada" || e.Accounts[0].Type == "" || len(e.Sessions) != 1 || e.Sessions[0].Provider != "op" ||
			len(e.Passkeys) != 1 || e.Passkeys[0].Name != "Laptop" || !e.Password || e.SecondStep || fmt.Sprint(e.Application) != "map[notes of:ada@example.com]" || e.Events == nil {
			t.Errorf("%s", a.Text)
		}
		for _, never := range []string{"grace", "sealed-secret", "access_token", "c2VhbGVk"} {
			if strings.Contains(a.Text, never) {
				t.Errorf("%q is in it: %s", never, a.Text)
			}
		}
		var file bytes.Buffer
		if err := w.Export(t.Context(), "u-none", &file); !errors.Is(err, adapter.ErrNotFound) || file.Len() > 0 {
			t.Errorf("an unknown user: %v %s", err, file.String())
		}
		if err := w.Export(t.Context(), id, &file); err != nil || exported(t, file.String()).User.ID != id {
			t.Errorf("by the application: %v %s", err, file.String())
		}
	})
}

func TestExportNotFresh(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.StrategyDatabase })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	makeOld(t, w, readAccount(t, b).User.ID)
	if a := b.Get("/api/auth/account/export"); a.Location() != arena.Origin+"/api/auth/confirm?callbackUrl=https%3A%2F%2Fapp.test%2Fapi%2Fauth%2Faccount%3Fdone%3Dexport" {
		t.Errorf("an old proof: %d %s", a.StatusCode, a.Location())
	}
	b.Header.Set("Accept", "application/json")
	if a := b.Get("/api/auth/account/export"); !answers(a, http.StatusUnauthorized, "FreshRequired") {
		t.Errorf("an old proof, a script: %d %s", a.StatusCode, a.Text)
	}
}

func TestExportRefused(t *testing.T) {
	t.Parallel()
	fails, panics := true, true
	w := arena.Start(t, func(c *authsvc.Config) {
		c.RateLimit.Account = authsvc.Rate{N: 1, Per: time.Hour} // counts changes only
		c.Callbacks.Export = func(context.Context, authsvc.User) (any, error) {
			switch {
			case panics:
				panic("their store is nil")
			case fails:
				return nil, errors.New("their store is away")
			}
			return nil, nil
		}
	})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	b.Header.Set("Accept", "application/json")
	for range 2 {
		if a := b.Get("/api/auth/account/export"); !answers(a, http.StatusServiceUnavailable, "Unavailable") || a.Header.Get("Content-Disposition") != "" {
			t.Errorf("the callback panics (%v) or fails: %d %s", panics, a.StatusCode, a.Text)
		}
		panics = false
	}
	fails = false
	for range 3 {
		if a := b.Get("/api/auth/account/export"); a.StatusCode != http.StatusOK || exported(t, a.Text).Application != nil {
			t.Errorf("%d %s", a.StatusCode, a.Text)
		}
	}
	if a := b.Get("/api/auth/account/export"); !answers(a, http.StatusTooManyRequests, "RateLimited") || a.Header.Get("Retry-After") == "" {
		t.Errorf("again and again: %d %s", a.StatusCode, a.Text)
	}
}

// TestExportEvents checks that an export contains the newest events of this user only,
// and does not name operators.
func TestExportEvents(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.Audit.Store = true })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	id := readAccount(t, b).User.ID
	const past = 10_300
	first := time.Now().Add(-24 * time.Hour) // recent enough that no sweep removes them
	list := make([]authsvc.AuditRecord, 0, 2*past)
	for i := range past {
		e := authsvc.AuditEvent{Name: "sign_in.succeeded", Time: first.Add(time.Duration(i/3) * time.Second), Outcome: authsvc.AuditSuccess, Reason: fmt.Sprint(i), UserID: id, Actor: "cli:root"}
		list = append(list, authsvc.AuditRecord{ID: fmt.Sprintf("%08d", i), AuditEvent: e})
		e.UserID, e.Reason = "grace", "of grace"
		list = append(list, authsvc.AuditRecord{ID: fmt.Sprintf("x%08d", i), AuditEvent: e})
	}
	if err := w.Store.(authsvc.AuditLog).PutAudit(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	e := exported(t, b.Get("/api/auth/account/export").Text)
	var own []string
	for _, one := range e.Events {
		if one.User != "" || one.Actor != "" || one.Reason == "of grace" {
			t.Fatalf("%+v", one)
		}
		if one.Name == "sign_in.succeeded" && one.Reason != "" && one.Reason[0] <= '9' {
			own = append(own, one.Reason)
		}
	}
	if n := len(own); n < 9_700 || n > 10_000 || own[n-1] != fmt.Sprint(past-1) || own[0] != fmt.Sprint(past-n) {
		t.Errorf("%d events, from %s to %s", len(own), own[0], own[len(own)-1])
	}
}

// TestExportOfReusedID checks that the events of an earlier user with the same id are not
// in an export, however many there are.
func TestExportOfReusedID(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"none (twin)": 0, "on one page": 3, "at the end of a page": 249, "on several pages": 700} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(c *authsvc.Config) { c.Audit.Store = true })
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			id := readAccount(t, b).User.ID
			var list []authsvc.AuditRecord
			add := func(name, reason string) {
				at := time.Now().Add(time.Duration(len(list))*time.Second - time.Hour)
				list = append(list, authsvc.AuditRecord{ID: fmt.Sprintf("%08d", len(list)), AuditEvent: authsvc.AuditEvent{Name: name, Time: at, Outcome: authsvc.AuditSuccess, Reason: reason, UserID: id}})
			}
			if before > 0 {
				add("user.deleted", "earlier") // of the first user with this id
				for range before - 1 {
					add("sign_in.succeeded", "earlier")
				}
				add("user.deleted", "earlier")
			}
			for range 300 {
				add("sign_in.succeeded", "own")
			}
			if err := w.Store.(authsvc.AuditLog).PutAudit(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			count := map[string]int{}
			for _, one := range exported(t, b.Get("/api/auth/account/export").Text).Events {
				count[one.Reason]++
			}
			if count["earlier"] != 0 || count["own"] != 300 {
				t.Errorf("%v", count)
			}
		})
	}
}
