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

	"authsvc"
)

// Replicas note in the store which secrets they have, so that check can say how
// far a rotation is. The notes are one value, which one replica at a time writes.
const (
	metaFleet   = "replicas"
	metaSince   = "secret-since:" // + keyID: when a replica had it first, in milliseconds since 1970
	noteEvery   = time.Minute
	noteCounts  = 3 * noteEvery // after that the replica is taken for gone
	noteTimeout = 2 * time.Second
	noteTurn    = 2 * noteTimeout // after that the replica that had its turn is taken for gone
	noteWait    = 20 * time.Millisecond
)

// A replica is what one process notes: the ids of its secrets, in their order.
type replica struct {
	ID   string   `json:"id"`
	At   int64    `json:"at"` // seconds since 1970
	Keys []string `json:"keys"`
}

// keyID names a secret, and tells nothing about it.
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

// note keeps this replica's note fresh.
func (n *renewer) note(ctx context.Context) {
	g := n.stage.generation()
	n.noted(ctx, &replica{ID: n.id, At: time.Now().Unix(), Keys: keyIDs(g.settings.Engine.Secrets)})
}

// forget takes it back at a clean end.
func (n *renewer) forget(ctx context.Context) { n.noted(context.WithoutCancel(ctx), nil) }

// noted replaces this replica's note by mine, which may be nil.
func (n *renewer) noted(ctx context.Context, mine *replica) {
	if n.store.Adapter == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	err := putNote(ctx, n.store.Adapter, n.id, mine, time.Now())
	if err != nil && ctx.Err() == nil {
		n.stage.generation().front.log.Debug("the secrets of this replica could not be noted for check", "err", err)
	}
}

func putNote(ctx context.Context, a authsvc.Adapter, id string, mine *replica, now time.Time) error {
	for {
		err := a.Lease(ctx, metaFleet, id, time.Now(), time.Now().Add(noteTurn))
		if err == nil {
			break
		}
		if !errors.Is(err, authsvc.ErrConflict) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(noteWait):
		}
	}
	defer a.Release(context.WithoutCancel(ctx), metaFleet, id) //nolint:errcheck // it lapses
	fleet, err := fleetOf(ctx, a, now)
	if err != nil {
		return err
	}
	fleet = slices.DeleteFunc(fleet, func(r replica) bool { return r.ID == id })
	if mine != nil {
		fleet = append(fleet, *mine)
		for _, key := range mine.Keys {
			if _, err := a.PutMeta(ctx, metaSince+key, fmt.Sprint(now.UnixMilli())); err != nil {
				return err
			}
		}
	}
	raw, err := json.Marshal(fleet)
	if err != nil {
		return err
	}
	return a.SetMeta(ctx, metaFleet, string(raw))
}

// fleetOf returns the replicas that noted something lately.
func fleetOf(ctx context.Context, a authsvc.Adapter, now time.Time) (fleet []replica, err error) {
	raw, err := a.GetMeta(ctx, metaFleet)
	if errors.Is(err, authsvc.ErrNotFound) {
		return nil, nil
	}
	if err != nil || json.Unmarshal([]byte(raw), &fleet) != nil { // what cannot be read is written anew
		return nil, err
	}
	return slices.DeleteFunc(fleet, func(r replica) bool {
		return len(r.Keys) == 0 || now.Sub(time.Unix(r.At, 0)).Abs() > noteCounts
	}), nil
}

// A rotation is what the replicas know of the secrets, and this configuration.
type rotation struct {
	own    []string
	fleet  []replica
	newest string // of the secrets that replicas have; "" if that is not known
}

func rotationOf(ctx context.Context, a authsvc.Adapter, secrets []string) (r rotation, err error) {
	r.own = keyIDs(secrets)
	if r.fleet, err = fleetOf(ctx, a, time.Now()); err != nil {
		return r, err
	}
	latest := ""
	for _, replica := range r.fleet {
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

// count is how many replicas are so.
func (r *rotation) count(is func(replica) bool) (n int) {
	for _, replica := range r.fleet {
		if is(replica) {
			n++
		}
	}
	return n
}

func (r *rotation) know(key string) int {
	return r.count(func(one replica) bool { return slices.Contains(one.Keys, key) })
}

// step says how far the rotation is, or what would sign people out; "" when
// there is nothing to say.
func (r *rotation) step() (string, error) {
	n := len(r.fleet)
	if n == 0 {
		return "", nil
	}
	for _, one := range r.fleet {
		if k := r.know(one.Keys[0]); k < n {
			return "", fmt.Errorf("a replica seals under a secret that %d of %d do not know: they refuse its sessions; give it to them, at the end of the list", n-k, n)
		}
		if !slices.Contains(r.own, one.Keys[0]) {
			return "", errors.New("this configuration lacks the secret that running replicas seal under: put it into the list")
		}
	}
	if k := r.know(r.own[0]); k < n && n > 1 {
		return "", fmt.Errorf("the first secret is not known to %d of %d running replicas: append it to the list of each before it comes first anywhere", n-k, n)
	}
	return r.progress(n), nil
}

// progress is step where nothing is wrong.
func (r *rotation) progress(n int) string {
	known, first := r.know(r.newest), r.count(func(one replica) bool { return one.Keys[0] == r.newest })
	old := r.count(func(one replica) bool { return len(one.Keys) > 1 })
	switch {
	case known < n:
		return fmt.Sprintf("step 1 of a rotation: %d of %d replicas know the new secret; append it to the list of the others", known, n)
	case first == 0:
		return fmt.Sprintf("step 1 of a rotation is done: all %d replicas know the new secret; move it to the front of each list", n)
	case first < n:
		return fmt.Sprintf("step 2 of a rotation: %d of %d replicas seal under the new secret; move it to the front of the others' lists", first, n)
	case old > 0:
		return fmt.Sprintf("step 2 of a rotation is done: all %d replicas seal under the newest secret; drop the others when session.max_age has passed since", n)
	}
	return fmt.Sprintf("one, the same at all %d replicas", n)
}
