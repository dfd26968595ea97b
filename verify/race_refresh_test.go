package verify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena/stores"
)

// A raceRotation makes an identity provider rotate refresh tokens. Each works once; a
// reused one revokes all.
type raceRotation struct {
	mu        sync.Mutex
	n         int // generation of the valid refresh token
	refreshes int
	ended     bool
}

func (r *raceRotation) fault() idp.Fault {
	return idp.Fault{
		TokenAnswer: func(answer map[string]any) { answer["refresh_token"], answer["expires_in"] = "rt-0", 30 },
		Intercept: map[idp.Endpoint]func(http.ResponseWriter, *http.Request) bool{idp.EndpointToken: func(w http.ResponseWriter, q *http.Request) bool {
			if q.PostFormValue("grant_type") != "refresh_token" {
				return false
			}
			time.Sleep(20 * time.Millisecond) // all others arrive meanwhile
			status, answer := r.refresh(q.PostFormValue("refresh_token"))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(answer)
			return true
		}},
	}
}

func (r *raceRotation) refresh(token string) (int, map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refreshes++
	if r.ended || token != fmt.Sprintf("rt-%d", r.n) {
		r.ended = true
		return http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
	}
	r.n++
	return http.StatusOK, map[string]any{"access_token": fmt.Sprintf("at-%d", r.n), "refresh_token": fmt.Sprintf("rt-%d", r.n),
		"token_type": "Bearer", "expires_in": 3600}
}

// race05 makes clients at three replicas request a provider's token that is due for
// renewal.
func race05(t *T) {
	rounds := t.Scale("rounds of 64 clients at 3 replicas, for each store", 1, 5, 200)
	t.Stores(func(t *T, kind stores.Kind) {
		w := raceEnter(t, func(c *authsvc.Config) { c.Adapter = kind.Open(t) })
		rotation := &raceRotation{}
		w.OP.SetFault(rotation.fault())
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		user := w.Person(t, b)
		for n := 1; n <= rounds; n++ {
			want := fmt.Sprintf("at-%d", n)
			together(crowd, func(i int) {
				w.services[i%raceReplicas].At(func(s *engine.Service) {
					if got, err := s.AccessToken(t.Context(), user, "op", nil); got != want || err != nil {
						t.Errorf("%q, want %q; %v", got, want, err)
					}
				})
			})
			if t.Failed() {
				t.Fatal(w.Logs)
			}
			raceDue(t, w, user)
		}
		if rotation.refreshes != rounds || rotation.ended || b.Email() != "ada@example.com" {
			t.Errorf("%d refreshes in %d rounds, a reuse %v, signed in as %q", rotation.refreshes, rounds, rotation.ended, b.Email())
		}
	})
}

// raceDue makes the stored access token expire in 30 s.
func raceDue(t *T, w *raceWorld, user string) {
	t.Helper()
	list, err := w.Store.ListAccounts(t.Context(), user)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	list[0].ExpiresAt = w.Now().Add(30 * time.Second).Unix()
	if err := w.Store.RefreshAccount(t.Context(), list[0], 0); err != nil {
		t.Fatal(err)
	}
}
