package engine

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/text"
	"authsvc/internal/text/useragent"
)

// Sessions is [Service.Sessions].
func (kp *keeper) Sessions(ctx context.Context, userID string) ([]authsvc.SessionView, error) {
	records, err := kp.liveSessions(ctx, userID)
	if err != nil {
		return nil, err
	}
	views := make([]authsvc.SessionView, 0, len(records))
	for i := range records {
		views = append(views, kp.sessionView(&records[i]))
	}
	slices.SortStableFunc(views, func(a, b authsvc.SessionView) int {
		return cmp.Or(lastUse(b).Compare(lastUse(a)), strings.Compare(a.ID, b.ID))
	})
	return views, nil
}

func lastUse(v authsvc.SessionView) time.Time {
	if v.Used.After(v.Created) {
		return v.Used
	}
	return v.Created
}

// liveSessions returns the records of a user's sessions that have not ended.
func (kp *keeper) liveSessions(ctx context.Context, userID string) ([]adapter.SessionRecord, error) {
	all, err := kp.Adapter.ListSessions(ctx, userID)
	if err != nil {
		return nil, err
	}
	now := kp.fleet.Now()
	return slices.DeleteFunc(all, func(r adapter.SessionRecord) bool {
		used := r.Began
		if r.Seen.After(used) {
			used = r.Seen
		}
		idle := r.SessionToken == "" && now.After(used.Add(kp.lifetime.maxAge+kp.lifetime.updateAge))
		return idle || !now.Before(r.Expires) || !kp.sessions.lists(&r)
	}), nil
}

func (kp *keeper) sessionView(r *adapter.SessionRecord) authsvc.SessionView {
	return authsvc.SessionView{ID: kp.sessionHandle(kp.recordID(r)), Device: useragent.Name(r.Agent), Agent: r.Agent, Network: r.Network, Place: kp.placeOf(r.Network), Provider: r.Provider,
		Client: r.Client, Actor: r.Actor, AMR: sessionshape.Methods(r.AMR).List(), ACR: sessionshape.Methods(r.AMR).Level(), Created: r.Began, SecondAt: r.SecondAt, Used: r.Seen, Expires: r.Expires}
}

// maxPlace is the longest name of a place, in characters.
const maxPlace = 60

// placeOf asks the application where a network is.
func (kp *keeper) placeOf(network string) (place string) {
	if kp.Callbacks.Place == nil || network == "" {
		return ""
	}
	prefix, err := netip.ParsePrefix(network)
	if err != nil {
		return ""
	}
	defer kp.fleet.Recovered("place callback", func() { place = "" })
	name := []rune(text.Name(kp.Callbacks.Place(prefix)))
	return string(name[:min(len(name), maxPlace)])
}

// recordID returns the id that sessions.id gives to the session of a record. A record
// that another program stored has no digest yet.
func (kp *keeper) recordID(r *adapter.SessionRecord) string {
	if r.Digest != "" {
		return r.Digest
	}
	return kp.sessions.id(r.SessionToken, kp.fleet.Now())
}

// sessionHandle returns the name in lists of the session with an id.
func (kp *keeper) sessionHandle(id string) string {
	return handle(kp.handleKey.Sum(id))
}

// SessionID is [Service.SessionID].
func (kp *keeper) SessionID(of *authsvc.Session) string { return kp.sessionHandle(of.Internal().ID) }

// EndSession is [Service.EndSession].
func (kp *keeper) EndSession(ctx context.Context, userID, sessionID string) error {
	if err := kp.endOneSession(ctx, userID, sessionID); err != nil {
		kp.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "session.end_failed", UserID: userID})
		return err
	}
	kp.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "session.ended", UserID: userID})
	return nil
}

func (kp *keeper) endOneSession(ctx context.Context, userID, sessionID string) error {
	return kp.endListed(ctx, userID, func(id string) bool { return text.Same(id, sessionID) }, true)
}

// EndOtherSessions is [Service.EndOtherSessions].
func (kp *keeper) EndOtherSessions(ctx context.Context, userID, keepSessionID string) error {
	if err := kp.endOtherSessions(ctx, userID, keepSessionID); err != nil {
		kp.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "sessions.end_failed", UserID: userID}, "all but one")
		return err
	}
	kp.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "sessions.ended", UserID: userID}, "all but one")
	return nil
}

func (kp *keeper) endOtherSessions(ctx context.Context, userID, keepSessionID string) error {
	if err := kp.revokeAll(ctx, kp.revocation(keyOthers+userID, userID, kp.fleet.Now())); err != nil {
		return err
	}
	return kp.endListed(ctx, userID, func(id string) bool { return !text.Same(id, keepSessionID) }, false)
}

// endListed ends the sessions for whose IDs meant returns true. If there is none and
// demanded is set, it returns ErrNotFound.
func (kp *keeper) endListed(ctx context.Context, userID string, meant func(id string) bool, demanded bool) error {
	all, err := kp.liveSessions(ctx, userID)
	if err != nil {
		return err
	}
	var errs []error
	ended := false
	for i := range all {
		if !meant(kp.sessionHandle(kp.recordID(&all[i]))) {
			continue
		}
		switch err := kp.sessions.endRecord(ctx, &all[i], kp.fleet.Now()); {
		case err == nil:
			ended = true
		case !errors.Is(err, adapter.ErrNotFound):
			errs = append(errs, err)
		}
	}
	if demanded && !ended && len(errs) == 0 {
		return adapter.ErrNotFound
	}
	return errors.Join(errs...)
}

// Times and sizes for noting the use of sessions.
const (
	seenEvery = 15 * time.Minute // at most once per session
	seenFlush = time.Minute      // then stored within this time
	maxSeen   = 1000             // in one batch; further sessions are noted later
	maxRecent = 100_000          // sessions that are remembered as noted
)

// seenSessions notes when sessions are used. Requests do not wait for it, and make no
// store call for it: batches are written in the background, and a batch that fails is
// dropped.
type seenSessions struct {
	on   atomic.Bool // batches are being written
	seed maphash.Seed

	mu     sync.Mutex
	recent map[uint64]int64     // when an id was noted, in seconds since 1970, by the hash of the id
	batch  map[string]time.Time // by id
}

func (v *seenSessions) note(id string, now time.Time) {
	if !v.on.Load() || id == "" {
		return
	}
	hash := maphash.String(v.seed, id)
	v.mu.Lock()
	defer v.mu.Unlock()
	if last, noted := v.recent[hash]; noted && now.Unix()-last < int64(seenEvery/time.Second) || len(v.batch) >= maxSeen {
		return
	}
	if len(v.recent) >= maxRecent {
		clear(v.recent)
	}
	v.recent[hash], v.batch[id] = now.Unix(), now
}

// take returns the batch and starts another.
func (v *seenSessions) take() (list []adapter.SessionSeen) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, at := range v.batch {
		list = append(list, adapter.SessionSeen{Digest: id, At: at})
	}
	clear(v.batch)
	return list
}

func newSeenSessions() *seenSessions {
	return &seenSessions{seed: maphash.MakeSeed(), recent: map[uint64]int64{}, batch: map[string]time.Time{}}
}

// touchSeen writes batches until ctx ends.
func (kp *keeper) touchSeen(ctx context.Context) {
	for fleet.Sleep(ctx, seenFlush) {
		list := kp.seen.take()
		if len(list) == 0 {
			continue
		}
		if err := kp.Adapter.TouchSessions(ctx, list); err != nil && ctx.Err() == nil {
			kp.Log.Warn("cannot record the last use of sessions", "sessions", len(list), "err", err)
		}
	}
}
