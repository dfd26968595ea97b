package verify

import (
	"fmt"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// storeInstants are times that are hard to store: fractions of a second, changes of
// summer time, 2038, 2106 and the far future.
var storeInstants = []time.Time{
	time.Date(2030, 3, 31, 1, 59, 59, 999e6, time.UTC), time.Date(2030, 3, 31, 2, 30, 0, 0, time.UTC), time.Date(2030, 10, 27, 1, 30, 0, 1e6, time.UTC),
	time.Date(2038, 1, 19, 3, 14, 7, 999e6, time.UTC), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC), time.Date(2106, 2, 7, 6, 28, 16, 500e6, time.UTC),
	time.Date(2199, 12, 31, 23, 59, 59, 999e6, time.UTC), time.Date(2026, 11, 1, 6, 30, 0, 123e6, time.UTC),
}

// store05 writes and reads instants in every zone, then makes processes in different
// zones share a store.
func store05(t *T) {
	t.Stores(func(t *T, kind stores.Kind) {
		s := kind.Open(t)
		u, err := s.CreateUser(t.Context(), authsvc.User{ID: "u", Email: "u@app.test"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range storeInstants {
			for j, zone := range []string{"UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Apia"} {
				name := fmt.Sprintf("%d-%d", i, j)
				in, err := time.LoadLocation(zone)
				if err != nil {
					t.Fatal(err)
				}
				// Another half millisecond must not be rounded up.
				written := at.Add(500 * time.Microsecond).In(in)
				rec := adapter.SessionRecord{ID: name, SessionToken: name, Digest: name, UserID: u.ID, Expires: written.Truncate(time.Millisecond), AuthTime: at.In(in)}
				if _, err := s.CreateSession(t.Context(), rec); err != nil {
					t.Fatal(err)
				}
				got, _, err := s.GetSession(t.Context(), name, name)
				if err != nil || !got.Expires.Equal(at) || !got.AuthTime.Equal(at) {
					t.Errorf("%v in %s: read %v and %v, %v", at, zone, got.Expires, got.AuthTime, err)
				}
				if err := s.PutToken(t.Context(), adapter.VerificationToken{Identifier: name, Token: name, Expires: at.In(in)}, adapter.Mail{ID: name, Due: at, Expires: at}, 1e6); err != nil {
					t.Fatal(err)
				}
				link, _, err := s.TakeToken(t.Context(), name, name, time.Now())
				if err != nil || !link.Expires.Equal(at) {
					t.Errorf("%v in %s: link until %v, %v", at, zone, link.Expires, err)
				}
			}
		}
		if kind.Name != "memory" && theScale() >= ci {
			storeZones(t, kind)
		}
	})
}

// storeZones signs in at a process in the far east and reads the session in the far
// west: both must see the same user until the same moment.
func storeZones(t *T, kind stores.Kind) {
	t.Helper()
	near, env := process.NewNeighbours(t), kind.Env(t, t.TempDir())
	east := process.Serve(t, near.YAML(""), append(env, "TZ=Pacific/Apia")...)
	config := strings.ReplaceAll(near.YAML(""), "{origin}", east.URL)
	west := process.Serve(t, config, append(env, "TZ=America/Adak")...)
	v := browser.New(east.URL, nil)
	if err := v.SignIn(near.OP, "ada"); err != nil {
		t.Fatal(err)
	}
	expires := func(p *process.Process) time.Time {
		t.Helper()
		at := browser.New(east.URL, storeRedirect{p.Addr, east.Addr})
		at.Client.Jar = v.Client.Jar
		a, err := at.Get("/api/auth/session")
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(a.Text, `"expires":"`)
		text, _, _ = strings.Cut(text, `"`)
		when, err := time.Parse(time.RFC3339, text)
		if err != nil || !strings.Contains(a.Text, "ada@example.com") {
			t.Errorf("%d %s: %v", a.StatusCode, a.Text, err)
		}
		return when
	}
	one, other := expires(east), expires(west)
	if !one.Equal(other) || time.Until(one) > 30*24*time.Hour || time.Until(one) < 29*24*time.Hour {
		t.Errorf("%s: a session of 30 days ends %v and %v", kind.Name, one, other)
	}
}
