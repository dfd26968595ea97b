package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adapter/sqlite"
)

// TestRotationStep: what check reports at each step of a rotation of two replicas. a
// and b are secrets; b is newer.
func TestRotationStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own   string
		fleet []string // the lists of the replicas
		want  string
		wrong bool
	}{
		"no replica runs":                     {"a", nil, "", false},
		"before":                              {"a", []string{"a", "a"}, "one, the same at all 2", false},
		"appended at one":                     {"ab", []string{"ab", "a"}, "step 1 of a rotation: the new secret is known to 1 of 2 replicas", false},
		"appended":                            {"ab", []string{"ab", "ab"}, "step 1 of a rotation is done: the new secret is known to all 2 replicas", false},
		"in front at one":                     {"ba", []string{"ba", "ab"}, "step 2 of a rotation: the new secret comes first at 1 of 2 replicas", false},
		"in front":                            {"ba", []string{"ba", "ba"}, "step 2 of a rotation is done", false},
		"dropped at one":                      {"b", []string{"b", "ba"}, "step 2 of a rotation is done", false},
		"dropped":                             {"b", []string{"b", "b"}, "one, the same", false},
		"in front too early":                  {"ba", []string{"ba", "a"}, "seals under a secret that is not known to 1 of 2 replicas, so", true},
		"in front here too early":             {"ba", []string{"a", "a"}, "not known to 2 of 2 running replicas", true},
		"dropped too early":                   {"b", []string{"b", "ab"}, "seals under a secret that is not known to 1 of 2 replicas, so", true},
		"dropped here too early":              {"b", []string{"ab", "ab"}, "this configuration lacks", true},
		"one replica alone, in front at once": {"ba", []string{"a"}, "the running replica has another list", false},
		"one replica alone, appended":         {"ab", []string{"ab"}, "step 1 of a rotation is done: the new secret is known to the running replica;", false},
		"one replica alone, in front":         {"ba", []string{"ba"}, "step 2 of a rotation is done: the newest secret comes first at the running replica;", false},
		"one replica alone":                   {"a", []string{"a"}, "one, the same at the running replica", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, store, now := t.Context(), memory.New(), time.Now()
			for _, key := range keyIDs([]string{"a", "b"}) { // a is older
				if _, err := store.PutMeta(ctx, metaSince+key, map[string]string{keyID("a"): "999", keyID("b"): "1000"}[key]); err != nil {
					t.Fatal(err)
				}
			}
			for i, list := range c.fleet {
				id := string(rune('0' + i))
				if err := putHeartbeat(ctx, store, id, &replica{ID: id, HeartbeatAt: now.Unix(), Keys: keyIDs(strings.Split(list, ""))}, now); err != nil {
					t.Fatal(err)
				}
			}
			r, err := loadRotation(ctx, store, strings.Split(c.own, ""))
			if err != nil {
				t.Fatal(err)
			}
			text, err := r.step()
			if err != nil {
				text = err.Error()
			}
			if (err != nil) != c.wrong || !strings.Contains(text, c.want) || c.want == "" && text != "" {
				t.Errorf("%q, wrong: %t", text, err != nil)
			}
		})
	}
}

// TestLateReplicas: check says that a replica may be gone once it has missed a
// heartbeat, as one whose record comes from a backup, and not before.
func TestLateReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ages []time.Duration
		want string
	}{
		"in time":      {[]time.Duration{0, heartbeatInterval}, "the newest secret comes first at all 2 replicas"},
		"one is late":  {[]time.Duration{0, 2 * heartbeatInterval}, "; 1 replica may be gone: last heard of 120 s ago, and not counted after 180 s"},
		"both":         {[]time.Duration{90 * time.Second, 70 * time.Second}, "; 2 replicas may be gone: last heard of 90 s ago, and not counted after 180 s"},
		"with a fault": {[]time.Duration{0, -1, 100 * time.Second}, "seals under a secret that is not known to 1 of 3 replicas, so its sessions are refused there: append it to every list; 1 replica may be gone: last heard of 100 s ago, and not counted after 180 s"},
	} {
		r := rotation{now: time.Unix(1e9, 0), keys: []string{"b", "a"}, newest: "b"}
		for _, age := range c.ages {
			one := replica{HeartbeatAt: r.now.Add(-age).Unix(), Keys: []string{"b", "a"}}
			if age < 0 {
				one = replica{HeartbeatAt: r.now.Unix(), Keys: []string{"a"}}
			}
			r.replicas = append(r.replicas, one)
		}
		text, err := r.step()
		if err != nil {
			text = err.Error()
		}
		if late := strings.Contains(text, "may be gone"); !strings.Contains(text, c.want) || late != strings.Contains(c.want, "may be gone") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestRotationWait: after step 2, check names steps 3 and 4 and how long to wait.
// Sessions need the old secret only with strategy jwt.
func TestRotationWait(t *testing.T) {
	t.Parallel()
	for strategy, wait := range map[string]string{
		"database": "step 4: wait 7 days, then remove the others",
		"jwt":      "step 4: wait for session.max_age or 7 days, whichever is longer, then remove the others",
	} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "authsvc.db")
			secrets := []string{"new-" + testSecret, testSecret}
			environ := []string{"AUTHSVC_URL=https://app.example.com", "AUTHSVC_SECRET=" + strings.Join(secrets, "\n"), "AUTHSVC_STORAGE_URL=sqlite:" + file,
				"AUTHSVC_SESSION_STRATEGY=" + strategy, "AUTHSVC_GITHUB_ID=a", "AUTHSVC_GITHUB_SECRET=b"}
			if code, out := runCommand(t, environ, "migrate", "up"); code != exitOK {
				t.Fatal(out)
			}
			store, err := sqlite.Open(t.Context(), file, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			err = putHeartbeat(t.Context(), store, "1", &replica{ID: "1", HeartbeatAt: time.Now().Unix(), Keys: keyIDs(secrets)}, time.Now())
			if err = errors.Join(err, store.Close()); err != nil {
				t.Fatal(err)
			}
			code, out := runCommand(t, environ, "check", "--offline")
			if want := "comes first at the running replica; step 3: run `authsvc migrate reseal`; " + wait + "\n"; code != exitOK || !strings.Contains(out, want) {
				t.Errorf("exit code %d, want %q in\n%s", code, want, out)
			}
		})
	}
}

// TestConcurrentHeartbeats: afterwards, the records of all replicas are stored.
func TestConcurrentHeartbeats(t *testing.T) {
	t.Parallel()
	const replicas = 16
	store, now := memory.New(), time.Now()
	slow := slowMeta{store}
	var all sync.WaitGroup
	for i := range replicas {
		all.Go(func() {
			id := string(rune('a' + i))
			if err := putHeartbeat(t.Context(), slow, id, &replica{ID: id, HeartbeatAt: now.Unix(), Keys: []string{"k"}}, now); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if fleet, err := liveReplicas(t.Context(), store, now); err != nil || len(fleet) != replicas {
		t.Errorf("%d of %d replicas, %v", len(fleet), replicas, err)
	}
}

// slowMeta returns the records slowly.
type slowMeta struct{ adapter.Adapter }

func (s slowMeta) GetMeta(ctx context.Context, key string) (string, error) {
	value, err := s.Adapter.GetMeta(ctx, key)
	time.Sleep(time.Millisecond)
	return value, err
}

// TestReplicaTTL: replicas that have stopped or crashed do not count.
func TestReplicaTTL(t *testing.T) {
	t.Parallel()
	ctx, store, now := context.Background(), memory.New(), time.Now()
	for i, ago := range []time.Duration{replicaTTL + time.Second, heartbeatInterval, 0} {
		id := string(rune('0' + i))
		at := now.Add(-ago)
		if err := putHeartbeat(ctx, store, id, &replica{ID: id, HeartbeatAt: at.Unix(), Keys: []string{"k"}}, at); err != nil {
			t.Fatal(err)
		}
	}
	if fleet, err := liveReplicas(ctx, store, now); err != nil || len(fleet) != 2 {
		t.Errorf("%v, %v", fleet, err)
	}
	if err := putHeartbeat(ctx, store, "2", nil, now); err != nil {
		t.Fatal(err)
	}
	if fleet, err := liveReplicas(ctx, store, now); err != nil || len(fleet) != 1 || fleet[0].ID != "1" {
		t.Errorf("%v, %v", fleet, err)
	}
}
