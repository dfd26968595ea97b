package engine

import (
	"context"
	"errors"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal/tokenclaims"

	"authsvc"
	"authsvc/adapter"
)

// Times and sizes of the revocation log.
const (
	revokePoll  = 2 * time.Second
	revokeStale = 30 * time.Second
	revokePage  = 5000                   // records per read of the log
	revokeStart = 2 * time.Second        // how long New waits for the log
	revokeRetry = 250 * time.Millisecond // between reads until the log is known
)

var errStaleRevocations = errors.New("revocations are not loaded yet, or could not be read for 30 s; JWT sessions are refused until they can be read")

// Prefixes of the keys of revocations. An id of any form follows or, after keyProvider,
// the id of a provider, which has no colon, and of a user.
const (
	keySession  = "sid:"     // one session
	keyUser     = "user:"    // all sessions of a user
	keyForeign  = "nosid:"   // sessions of a user that another program began
	keyProvider = "by:"      // sessions of a user that began through a provider
	keyAccount  = "account:" // no sessions: an account was removed, which stops sign-ins in progress with it
	keyAddress  = "address:" // no sessions: the address is about to change, which stops sign-ins in progress by the old one
	keyOthers   = "others:"  // no sessions: sessions of a user are being ended one by one, which stops sign-ins in progress
)

// revokedBy returns the key that covers a user's sessions of one provider.
func revokedBy(provider, userID string) string { return keyProvider + provider + ":" + userID }

// revocations is this replica's copy of the revocation log, which makes JWT sessions
// end before they expire. Keys are kept as hashes under a seed of this process. A
// record of an ended session takes about 50 bytes. With a million records, one session
// in 10^13 would be mistaken for an ended one.
type revocations struct {
	enabled bool // there are JWT sessions, and a store that has the log
	accept  bool // accept sessions when the copy is not up to date
	seed    maphash.Seed
	turn    chan struct{} // a mutex for reads of the log, with a context

	mu       sync.RWMutex
	sessions map[uint64]uint32 // of keySession: expiry of the last token, seconds since 1970
	cutoffs  map[uint64]cutoff // of all other keys
	ends     [2]expiries       // of sessions and cutoffs
	cursor   int64
	read     time.Time // start of the latest read that reached the end of the log; zero: no read did
}

// A cutoff covers tokens whose epoch is below seq, and tokens without an epoch that did
// not begin after notBefore.
type cutoff struct {
	seq, notBefore int64 // notBefore in milliseconds since 1970
	expires        uint32
}

func newRevocations(accept bool) *revocations {
	return &revocations{accept: accept, seed: maphash.MakeSeed(), turn: make(chan struct{}, 1),
		sessions: map[uint64]uint32{}, cutoffs: map[uint64]cutoff{}}
}

// hash returns the hash of a key that is given in parts.
func (v *revocations) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(v.seed)
	for _, part := range parts {
		h.WriteString(part) //nolint:errcheck // never fails
	}
	return h.Sum64()
}

// apply adds records to the copy. It skips a record without a key, which a store did not
// need to write; see endOfEarlier.
func (v *revocations) apply(list ...adapter.Revocation) {
	if !v.enabled {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range list {
		if list[i].Key != "" {
			v.add(&list[i])
		}
	}
}

func (v *revocations) add(r *adapter.Revocation) {
	hash, expires := v.hash(r.Key), uint32(max(0, min(r.Expires.Unix()+1, 1<<32-1)))
	if strings.HasPrefix(r.Key, keySession) {
		if old, there := v.sessions[hash]; !there || old < expires {
			v.sessions[hash] = expires
			v.ends[0].push(hash, expires)
		}
		return
	}
	old, there := v.cutoffs[hash]
	v.cutoffs[hash] = cutoff{max(old.seq, r.Seq), max(old.notBefore, r.NotBefore.UnixMilli()), max(old.expires, expires)}
	if !there || old.expires < expires {
		v.ends[1].push(hash, expires)
	}
}

// covers reports whether a token is revoked.
func (v *revocations) covers(c *tokenclaims.Claims) (bool, error) {
	if !v.enabled {
		return false, nil
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if !v.accept && !v.current() {
		return true, errStaleRevocations
	}
	if sid := c.SessionID(); sid != "" && len(v.sessions) > 0 {
		if _, ended := v.sessions[v.hash(keySession, sid)]; ended {
			return true, nil
		}
	}
	if len(v.cutoffs) == 0 {
		return false, nil
	}
	return v.covered(c, keyUser, c.Subject) ||
		v.covered(c, keyProvider, c.Provider, ":", c.Subject) ||
		c.SID == "" && v.covered(c, keyForeign, c.Subject), nil
}

// coversForeign reports whether a session that another program began has ended because
// all such sessions of its user were ended. covers does not check this for a session
// that was taken over under an id of its own.
func (v *revocations) coversForeign(c *tokenclaims.Claims) bool {
	if !v.enabled {
		return false
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.covered(c, keyForeign, c.Subject)
}

// ended reports whether one session is known to have been ended individually.
func (v *revocations) ended(sid string) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	_, ended := v.sessions[v.hash(keySession, sid)]
	return ended
}

func (v *revocations) covered(c *tokenclaims.Claims, key ...string) bool {
	m, there := v.cutoffs[v.hash(key...)]
	switch {
	case !there:
		return false
	case c.Epoch != nil:
		return *c.Epoch < m.seq
	default:
		return tokenclaims.FromSeconds(c.Began).UnixMilli() <= m.notBefore
	}
}

// current reports whether the copy is recent enough. v.mu must be held.
func (v *revocations) current() bool {
	return !v.read.IsZero() && time.Since(v.read) <= revokeStale
}

// ready returns the error with which JWT sessions are refused at present, if any.
func (v *revocations) ready() error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.enabled && !v.accept && !v.current() {
		return errStaleRevocations
	}
	return nil
}

// catchUp reads the log from the end of the last read to the end of the log. Every
// revocation that was written before the call is then applied.
func (v *revocations) catchUp(ctx context.Context, a adapter.Adapter, now time.Time) error {
	if !v.enabled {
		return nil
	}
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	for {
		v.mu.RLock()
		after := v.cursor
		v.mu.RUnlock()
		list, next, err := a.Revocations(ctx, after, revokePage)
		if err != nil {
			return err
		}
		v.apply(list...)
		v.mu.Lock()
		v.cursor = next
		if next == after {
			v.read = began
			v.forget(uint32(now.Unix()))
			v.mu.Unlock()
			return nil
		}
		v.mu.Unlock()
	}
}

// maxForget limits the work of one call of forget.
const maxForget = 10_000

// forget drops expired records from the front of the queues, at most maxForget
// of each kind.
func (v *revocations) forget(now uint32) {
	for range maxForget {
		hash, due := v.ends[0].pop(now)
		if !due {
			break
		}
		if v.sessions[hash] < now {
			delete(v.sessions, hash)
		}
	}
	for range maxForget {
		hash, due := v.ends[1].pop(now)
		if !due {
			break
		}
		if v.cutoffs[hash].expires < now {
			delete(v.cutoffs, hash)
		}
	}
}

// expiries is a queue of records in order of arrival, which is nearly the order of
// expiry. It grows and shrinks in chunks.
type expiries struct{ chunks [][]expiry }

type expiry struct {
	hash    uint64
	expires uint32
}

const expiryChunk = 4096

func (q *expiries) push(hash uint64, expires uint32) {
	last := len(q.chunks) - 1
	if last < 0 || len(q.chunks[last]) == cap(q.chunks[last]) {
		q.chunks = append(q.chunks, make([]expiry, 0, expiryChunk))
		last++
	}
	q.chunks[last] = append(q.chunks[last], expiry{hash, expires})
}

// pop removes the first record if it expired before now.
func (q *expiries) pop(now uint32) (hash uint64, due bool) {
	if len(q.chunks) == 0 || len(q.chunks[0]) == 0 || q.chunks[0][0].expires >= now {
		return 0, false
	}
	hash = q.chunks[0][0].hash
	if q.chunks[0] = q.chunks[0][1:]; len(q.chunks[0]) == 0 {
		q.chunks = q.chunks[1:]
	}
	return hash, true
}

// pollRevocations keeps the copy up to date until ctx ends.
func (kp *keeper) pollRevocations(ctx context.Context) {
	failed := false
	for {
		wait := revokePoll
		if kp.revoked.ready() != nil {
			wait = revokeRetry
		}
		if !fleet.Sleep(ctx, wait) {
			return
		}
		err := kp.revoked.catchUp(ctx, kp.Adapter, kp.fleet.Now())
		if err != nil && !failed && ctx.Err() == nil {
			kp.Log.Error("cannot read revocations", "err", err)
		}
		failed = err != nil
	}
}

// endBy revokes by provider. A token without the provider claim was made by another
// program.
func (j *jwtSessions) endBy(ctx context.Context, userID, provider string, now time.Time) ([]adapter.SessionRecord, error) {
	err := j.keeper.revokeAll(ctx, j.keeper.revocation(revokedBy(provider, userID), userID, now), j.keeper.revocation(revokedBy("", userID), userID, now))
	if err == nil {
		j.unlist(ctx, userID, provider)
	}
	return nil, err
}

// unlist removes the records of a user's sessions that began through a provider and
// have ended.
func (j *jwtSessions) unlist(ctx context.Context, userID, provider string) {
	if !j.keeper.revoked.enabled {
		return
	}
	list, err := j.keeper.Adapter.ListSessions(ctx, userID)
	for _, r := range list {
		if r.SessionToken == "" && r.Provider == provider && err == nil {
			if _, err = j.keeper.Adapter.DeleteSessionOf(ctx, userID, r.Digest); errors.Is(err, adapter.ErrNotFound) {
				err = nil
			}
		}
	}
	if err != nil {
		j.keeper.Log.Error("cannot remove ended sessions from the list", "err", err)
	}
}

// dropEmailChange drops a pending change of a user's address.
func (kp *keeper) dropEmailChange(ctx context.Context, userID, why string) error {
	n, err := kp.Adapter.DeleteCredentials(ctx, userID, nil, adapter.CredentialAddress)
	if err == nil && n > 0 {
		kp.auditor.Record(ctx, authsvc.AuditEvent{Name: "email.change_stopped", UserID: userID, Reason: why})
	}
	return err
}

func (kp *keeper) endSessions(ctx context.Context, userID string) error {
	_, err := kp.endAllSessions(ctx, userID)
	return err
}

// endAllSessions ends all sessions of a user. It returns how many listed sessions there
// were.
func (kp *keeper) endAllSessions(ctx context.Context, userID string) (ended int, err error) {
	r := kp.revocation(keyUser+userID, userID, kp.fleet.Now())
	if ended, err = kp.Adapter.EndSessions(ctx, userID, r); err != nil {
		return 0, err
	}
	kp.revoked.apply(*r)
	return ended, kp.dropEmailChange(ctx, userID, "all sessions ended")
}

// shutOut stores why a user is not allowed to sign in, ends the user's sessions, and
// forgets the browsers that skip the second step. stored reports whether the change was
// stored, even if a later step failed.
func (kp *keeper) shutOut(ctx context.Context, userID string, change adapter.PersonUpdate) (stored bool, err error) {
	r := kp.revocation(keyUser+userID, userID, kp.fleet.Now())
	if err := kp.Adapter.SetPerson(ctx, userID, change, r); err != nil {
		return false, err
	}
	kp.revoked.apply(*r)
	if err := kp.endSessions(ctx, userID); err != nil { // ends stored sessions that began before
		return true, err
	}
	_, err = kp.Adapter.DeleteCredentials(ctx, userID, nil, adapter.CredentialDevice)
	return true, err
}

// startRevocations reads the revocation log, for at most revokeStart. If that is not
// enough, pollRevocations continues, and JWT sessions are not accepted until it has
// reached the end.
func (kp *keeper) startRevocations(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, revokeStart)
	defer cancel()
	if err := kp.revoked.catchUp(ctx, kp.Adapter, kp.fleet.Now()); err != nil {
		kp.Log.Warn("the log of revocations is still being read; JWT sessions are refused until that is done", "cause", err)
	}
}

// epochLife is the shortest time for which a revocation about a user is kept. When it is
// swept, the user's epoch falls back, so it must outlive all that remembers an epoch: the
// cookie of known browsers, and links that undo a change.
const epochLife = 180 * 24 * time.Hour

// revocation returns a record that covers sessions of a user that begin up to now. The
// record lasts until none of them can live any more. userID is "" if it concerns no user.
func (kp *keeper) revocation(key, userID string, now time.Time) *adapter.Revocation {
	life := kp.lifetime.absolute
	if userID != "" {
		life = max(life, epochLife)
	}
	return &adapter.Revocation{Key: key, UserID: userID, NotBefore: now, Expires: now.Add(life + time.Minute)}
}

// endOfEarlier returns a record for the step that stores a new user. If an earlier user
// may have had the id that the store gives, that step completes and writes the record,
// which ends the sessions of the earlier user: an application may have deleted that user
// without authsvc, so that nothing ended them.
func (kp *keeper) endOfEarlier(now time.Time) *adapter.Revocation {
	return &adapter.Revocation{NotBefore: now, Expires: now.Add(max(kp.lifetime.absolute, epochLife) + time.Minute)}
}

// revokeAll writes revocations and applies them to this replica's copy at once.
func (kp *keeper) revokeAll(ctx context.Context, list ...*adapter.Revocation) error {
	if err := kp.Adapter.Revoke(ctx, list...); err != nil {
		return err
	}
	for _, r := range list {
		kp.revoked.apply(*r)
	}
	return nil
}
