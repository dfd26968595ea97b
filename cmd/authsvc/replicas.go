package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"authsvc/adapter"
)

// Each replica records the IDs of its secrets in the store, so that check can report
// the progress of a rotation. The records are one value, written by one replica at a
// time.
const (
	metaReplicas      = "replicas"
	metaSince         = "secret-since:" // + keyID: when a replica first had it, in milliseconds since 1970
	heartbeatInterval = time.Minute
	replicaTTL        = 3 * heartbeatInterval // then the replica counts as gone
	heartbeatGrace    = 5 * time.Second
	heartbeatTimeout  = 2 * time.Second
	heartbeatLease    = 2 * heartbeatTimeout // then another replica may write
	leaseRetryDelay   = 20 * time.Millisecond
)

// A replica is the record of one process: the IDs of its secrets, in order.
type replica struct {
	ID          string   `json:"id"`
	HeartbeatAt int64    `json:"at"` // seconds since 1970
	Keys        []string `json:"keys"`
}

// keyID returns an ID of a secret that does not reveal it.
func keyID(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("authsvc: id of a secret in a fleet"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

func keyIDs(secrets []string) []string {
	ids := make([]string, len(secrets))
	for i, s := range secrets {
		ids[i] = keyID(s)
	}
	return ids
}

// heartbeat records the secrets of this replica.
func (r *reloader) heartbeat(ctx context.Context) {
	in := r.handlers.instance()
	r.writeHeartbeat(ctx, &replica{ID: r.id, HeartbeatAt: time.Now().Unix(), Keys: keyIDs(in.settings.Engine.Secrets)})
}

// withdraw removes the record of this replica when it stops.
func (r *reloader) withdraw(ctx context.Context) { r.writeHeartbeat(context.WithoutCancel(ctx), nil) }

// writeHeartbeat replaces the record of this replica with own. If own is nil, it
// removes the record.
func (r *reloader) writeHeartbeat(ctx context.Context, own *replica) {
	if r.store.Adapter == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	err := putHeartbeat(ctx, r.store.Adapter, r.id, own, time.Now())
	if err != nil && ctx.Err() == nil {
		r.handlers.instance().log.Debug("cannot record the secrets of this replica for check", "err", err)
	}
}

// putHeartbeat replaces the record of the replica id with own. If own is nil, it
// removes the record.
func putHeartbeat(ctx context.Context, a adapter.Adapter, id string, own *replica, now time.Time) error {
	for {
		err := a.Lease(ctx, metaReplicas, id, time.Now(), time.Now().Add(heartbeatLease))
		if err == nil {
			break
		}
		if !errors.Is(err, adapter.ErrConflict) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leaseRetryDelay):
		}
	}
	defer a.Release(context.WithoutCancel(ctx), metaReplicas, id) //nolint:errcheck // it lapses
	all, err := liveReplicas(ctx, a, now)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r replica) bool { return r.ID == id })
	if own != nil {
		all = append(all, *own)
		for _, key := range own.Keys {
			if _, err := a.PutMeta(ctx, metaSince+key, fmt.Sprint(now.UnixMilli())); err != nil {
				return err
			}
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return a.SetMeta(ctx, metaReplicas, string(raw))
}

// liveReplicas returns the replicas whose heartbeat is recent.
func liveReplicas(ctx context.Context, a adapter.Adapter, now time.Time) (all []replica, err error) {
	raw, err := a.GetMeta(ctx, metaReplicas)
	if errors.Is(err, adapter.ErrNotFound) {
		return nil, nil
	}
	if err != nil || json.Unmarshal([]byte(raw), &all) != nil { // an unreadable record is overwritten
		return nil, err
	}
	return slices.DeleteFunc(all, func(r replica) bool {
		return len(r.Keys) == 0 || now.Sub(time.Unix(r.HeartbeatAt, 0)).Abs() > replicaTTL
	}), nil
}

// A rotation compares the secrets of the replicas with this configuration.
type rotation struct {
	now      time.Time
	keys     []string
	replicas []replica
	newest   string // the ID of the latest secret that a replica has; "" if unknown
	jwt      bool   // session cookies are sealed under the secret
}

func loadRotation(ctx context.Context, a adapter.Adapter, secrets []string) (r rotation, err error) {
	r.now, r.keys = time.Now(), keyIDs(secrets)
	if r.replicas, err = liveReplicas(ctx, a, r.now); err != nil {
		return r, err
	}
	latest := ""
	for _, replica := range r.replicas {
		for _, key := range replica.Keys {
			since, err := a.GetMeta(ctx, metaSince+key)
			if err != nil {
				return r, err
			}
			if cmp.Or(cmp.Compare(len(since), len(latest)), strings.Compare(since, latest)) > 0 {
				latest, r.newest = since, key
			}
		}
	}
	return r, nil
}

// count returns how many replicas match.
func (r *rotation) count(match func(replica) bool) (n int) {
	for _, replica := range r.replicas {
		if match(replica) {
			n++
		}
	}
	return n
}

// countHolding returns how many replicas have a secret.
func (r *rotation) countHolding(key string) int {
	return r.count(func(one replica) bool { return slices.Contains(one.Keys, key) })
}

// step returns the progress of the rotation, or "" if there are no replicas. It returns
// an error for a state that would sign users out. If a replica has missed a heartbeat,
// the result says so: it may have crashed, or its record may come from a backup.
func (r *rotation) step() (string, error) {
	text, err := r.judge()
	late := r.late()
	switch {
	case late == "":
	case err != nil:
		err = fmt.Errorf("%w; %s", err, late)
	case text != "":
		text += "; " + late
	}
	return text, err
}

// late names the replicas that have missed a heartbeat, and may not run any more.
func (r *rotation) late() string {
	var oldest time.Duration
	n := 0
	for _, one := range r.replicas {
		if age := r.now.Sub(time.Unix(one.HeartbeatAt, 0)); age > heartbeatInterval+heartbeatGrace {
			oldest = max(oldest, age)
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s may be gone: last heard of %.0f s ago, and not counted after %.0f s", replicasText(n), oldest.Seconds(), replicaTTL.Seconds())
}

// judge is step without regard to missed heartbeats.
func (r *rotation) judge() (string, error) {
	n := len(r.replicas)
	if n == 0 {
		return "", nil
	}
	for _, one := range r.replicas {
		if k := r.countHolding(one.Keys[0]); k < n {
			return "", fmt.Errorf("a replica seals under a secret that is not known to %d of %s, so its sessions are refused there: append it to every list", n-k, replicasText(n))
		}
		if !slices.Contains(r.keys, one.Keys[0]) {
			return "", errors.New("this configuration lacks the secret that running replicas seal under: add it to the list")
		}
	}
	if k := r.countHolding(r.keys[0]); k < n && n > 1 {
		return "", fmt.Errorf("the first secret is not known to %d of %d running replicas: append it to every list before it comes first in any", n-k, n)
	}
	return r.progress(n), nil
}

// progress returns the progress of a rotation without errors.
func (r *rotation) progress(n int) string {
	known, first := r.countHolding(r.newest), r.count(func(one replica) bool { return one.Keys[0] == r.newest })
	old := r.count(func(one replica) bool { return len(one.Keys) > 1 })
	switch {
	case known < n:
		return fmt.Sprintf("step 1 of a rotation: the new secret is known to %d of %s; append it to the list of the others", known, replicasText(n))
	case first == 0:
		return fmt.Sprintf("step 1 of a rotation is done: the new secret is known to %s; move it to the front of each list", everyReplica(n))
	case first < n:
		return fmt.Sprintf("step 2 of a rotation: the new secret comes first at %d of %s; move it to the front of the others' lists", first, replicasText(n))
	case old > 0:
		return fmt.Sprintf("step 2 of a rotation is done: the newest secret comes first at %s; step 3: run `authsvc migrate reseal`; step 4: wait %s, then remove the others", everyReplica(n), r.wait())
	}
	if n == 1 && !slices.Equal(r.replicas[0].Keys, r.keys) {
		return "the running replica has another list, and will use this one after its next reload or start"
	}
	return "one, the same at " + everyReplica(n)
}

// wait says how long the secrets after the first are still needed: until invitations
// and, with strategy jwt, sessions have expired.
func (r *rotation) wait() string {
	if r.jwt {
		return "for session.max_age or 7 days, whichever is longer"
	}
	return "7 days"
}

// everyReplica names all n replicas.
func everyReplica(n int) string {
	if n == 1 {
		return "the running replica"
	}
	return "all " + replicasText(n)
}

// replicasText counts replicas.
func replicasText(n int) string { return plural(n, "replica", "replicas") }
