package redis

import (
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
)

// kind returns the kind of a key, without tag and name.
func kind(s *Store, key string) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(key, s.tag), ":")
	return kind
}

// storeOneOfEach stores a record of each kind. Records that expire do so at expires.
func storeOneOfEach(t *testing.T, s *Store, expires time.Time) {
	t.Helper()
	now := time.Now()
	acc := adapter.Account{ID: "a", Type: "oauth", Provider: "p", ProviderAccountID: "1"}
	rec := adapter.SessionRecord{ID: "s", SessionToken: "t", Digest: "d", Expires: expires}
	_, err := s.SignUp(t.Context(), adapter.User{ID: "u", Email: "u@example.com"}, &acc, &rec, "", nil)
	_, _, permitErr := s.Permit(t.Context(), expires.Add(-time.Second), adapter.Quota{Key: "k", Interval: time.Second})
	_, metaErr := s.PutMeta(t.Context(), "k", "v")
	for _, err := range []error{
		err, permitErr, metaErr,
		s.PutToken(t.Context(), adapter.VerificationToken{Identifier: "u@example.com", Token: "l", Expires: expires},
			adapter.Mail{ID: "l", Due: now, Expires: expires}, 10),
		s.UseOnce(t.Context(), "k", expires),
		s.Revoke(t.Context(), &adapter.Revocation{Key: "user:u", UserID: "u", Expires: expires}),
		s.Lease(t.Context(), "k", "h", now, expires),
		s.PutAudit(t.Context(), []authsvc.AuditRecord{{ID: "a", AuditEvent: authsvc.AuditEvent{Name: "n", Time: now}}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// expiring lists the kinds of keys that have a time to live.
var expiring = map[string]bool{
	"session": true, "session-id": true, "session-digest": true, "sessions": true, "link": true, "links": true, "mail": true,
	"once": true, "revoked": true, "epoch": true, "permit": true, "lease": true,
	"user": false, "users": false, "addresses": false, "email": false, "account": false, "account-id": false, "accounts": false, "meta": false,
	"schema": false, "audit": false, "queue": false, "log": false, "seq": false, "expiry": false,
}

// checkTTLs checks the time to live of every key: none, or a day after expires.
func checkTTLs(t *testing.T, s *Store, expires time.Time) {
	t.Helper()
	seen := map[string]bool{}
	for _, name := range keys(t, s) {
		ttl, err := s.client.PTTL(t.Context(), name).Result()
		if err != nil {
			t.Fatal(err)
		}
		dies, known := expiring[kind(s, name)]
		if !known {
			t.Errorf("unexpected key %s", name)
		}
		seen[kind(s, name)] = true
		if !dies {
			if ttl >= 0 {
				t.Errorf("%s dies in %v", name, ttl)
			}
			continue
		}
		if late := ttl - time.Until(expires) - 24*time.Hour; late.Abs() > time.Minute {
			t.Errorf("%s dies in %v, which is %v late", name, ttl, late)
		}
	}
	if len(seen) != len(expiring) {
		t.Errorf("saw %d kinds of keys of %d: %v", len(seen), len(expiring), seen)
	}
}

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		expires := time.Now().Add(time.Hour)
		storeOneOfEach(t, s, expires)
		checkTTLs(t, s, expires)
	})
}

// TestTimeToLiveOfExpired checks that an expired record is kept for another day.
func TestTimeToLiveOfExpired(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		storeOneOfEach(t, s, time.Now().Add(-1000*time.Hour))
		checkTTLs(t, s, time.Now())
	})
}

// TestTimeToLiveMoves checks that an update extends the session and its indexes, and
// that the index of a user's sessions lives as long as the last of them.
func TestTimeToLiveMoves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		storeOneOfEach(t, s, time.Now().Add(time.Hour))
		for _, hours := range []time.Duration{700, 2} {
			expires := time.Now().Add(hours * time.Hour)
			rec := adapter.SessionRecord{SessionToken: "t", Digest: "d", Expires: expires}
			if err := s.UpdateSession(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
			for _, name := range keys(t, s) {
				if !strings.HasPrefix(kind(s, name), "session") {
					continue
				}
				ttl := s.client.PTTL(t.Context(), name).Val()
				if late := ttl - time.Until(expires) - 24*time.Hour; late.Abs() > time.Minute {
					t.Errorf("%s dies in %v, which is %v late", name, ttl, late)
				}
			}
			score := s.client.ZScore(t.Context(), s.key("expiry", "session"), pair("t", "u")).Val()
			if int64(score) != expires.UnixMilli() {
				t.Errorf("sweep expects %v, not %d", score, expires.UnixMilli())
			}
		}
	})
}

// TestNothingIsLeft checks that Sweep leaves no key of a record, even after its time to
// live has passed, and that such a record does not block others.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]func(*testing.T, *Store){
		"swept": func(*testing.T, *Store) {},
		"dead": func(t *testing.T, s *Store) {
			for _, name := range keys(t, s) {
				if expiring[kind(s, name)] {
					s.client.Del(t.Context(), name)
				}
			}
			if _, err := s.ClaimMail(t.Context(), time.Now(), time.Now()); err != adapter.ErrNotFound {
				t.Errorf("claimed a dead mail: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, url string) {
				s := open(t, url, newPrefix())
				now := time.Now()
				storeOneOfEach(t, s, now.Add(-time.Minute))
				die(t, s)
				n, err := s.Sweep(t.Context(), now, 1000)
				if err != nil || name == "swept" && n != 7 {
					t.Errorf("swept %d, %v", n, err)
				}
				for _, name := range keys(t, s) {
					if kind := kind(s, name); expiring[kind] && kind != "epoch" || kind == "expiry" || kind == "queue" || kind == "log" {
						t.Errorf("%s is left", name)
					}
				}
			})
		})
	}
}

// TestClaimPassesDeadMail checks that a mail whose time to live has passed neither
// blocks the next one nor counts as queued.
func TestClaimPassesDeadMail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		putLink(t, s, "dead")
		putLink(t, s, "live")
		s.client.Del(t.Context(), s.key("mail", "dead"))
		later := time.Now().Add(2 * time.Hour)
		if m, err := s.ClaimMail(t.Context(), later, later.Add(time.Hour)); err != nil || m.ID != "live" {
			t.Errorf("claimed %q, %v", m.ID, err)
		}
		if n := s.client.ZCard(t.Context(), s.tag+"queue").Val(); n != 1 {
			t.Errorf("%d mails wait", n)
		}
	})
}

// TestSweepBatches checks that one call sweeps several batches, up to the limit.
func TestSweepBatches(t *testing.T) {
	t.Parallel()
	s := open(t, miniURL(t), newPrefix())
	now := time.Now()
	for i := range 2*batch + 50 {
		if err := s.UseOnce(t.Context(), newPrefix(), now.Add(-time.Duration(i+1)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]int{{-1, 0}, {0, 0}, {batch + 30, batch + 30}, {1000, batch + 20}, {1000, 0}} {
		if n, err := s.Sweep(t.Context(), now, c[0]); err != nil || n != c[1] {
			t.Errorf("limit %d: swept %d, %v, want %d", c[0], n, err, c[1])
		}
	}
}

// TestTimeToLiveOfEpoch checks that an epoch lives as long as the longest-lived record
// of its user.
func TestTimeToLiveOfEpoch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		long, short := endSessionsOf("u"), endSessionsOf("u")
		long.Expires, short.Key = time.Now().Add(700*time.Hour), "by:github:u"
		if err := s.Revoke(t.Context(), long, short); err != nil {
			t.Fatal(err)
		}
		for _, name := range keys(t, s) {
			expires := long.Expires
			if strings.HasSuffix(name, short.Key) {
				expires = short.Expires
			} else if k := kind(s, name); k != "epoch" && k != "revoked" {
				continue
			}
			ttl := s.client.PTTL(t.Context(), name).Val()
			if late := ttl - time.Until(expires) - 24*time.Hour; late.Abs() > time.Minute {
				t.Errorf("%s dies in %v, which is %v late", name, ttl, late)
			}
		}
		// When the epoch has expired, the user is as at the beginning.
		s.client.Del(t.Context(), s.key("epoch", "u"))
		if epoch, err := s.GetEpoch(t.Context(), "u"); epoch != 0 || err != nil {
			t.Errorf("epoch %d, %v", epoch, err)
		}
	})
}
