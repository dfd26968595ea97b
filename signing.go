package authsvc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"authsvc/internal/seal"
	"authsvc/internal/signingkeys"
	"authsvc/internal/uuid"
)

// keysPoll is how often a replica reads the signing keys from the store. With
// leaseCall it is less than signingkeys.Spread: a key that is to sign at once is
// published everywhere before it does.
const keysPoll = 20 * time.Second

// signing are the keys that sign tokens, as this replica knows them. With a store
// they are kept there, sealed, and made under a lease; without one they follow
// from the secrets.
type signing struct {
	enabled bool // tokens are issued
	stored  bool
	plan    signingkeys.Plan
	box     *seal.Box
	derived signingkeys.Set
	known   atomic.Pointer[knownKeys]
	made    []*signingkeys.Key // by the start, and not recorded yet
}

// knownKeys are a set and what GET jwks answers of it.
type knownKeys struct {
	set  signingkeys.Set
	jwks asset
}

func (k *signing) use(set signingkeys.Set) {
	k.known.Store(&knownKeys{set, publicDocument(set.JWKS())})
}

// prepareSigningKeys derives what seals the keys or, without a store, the keys.
func (s *Service) prepareSigningKeys(ring *seal.Ring) {
	s.signing.box = ring.Box("signing keys")
	if s.signing.stored || !s.signing.enabled {
		return
	}
	var keys []*signingkeys.Key
	for _, alg := range s.signing.plan.Algs {
		var numbers [8][][]byte // by number and secret
		for n := range numbers {
			numbers[n] = ring.Derive("signing key "+alg+" "+strconv.Itoa(n)+" "+s.base, 32)
		}
		for i := range numbers[0] {
			k, err := signingkeys.Derive(alg, func(n int) []byte { return numbers[n][i] })
			if err != nil { // checkTokens refused what cannot be derived
				panic(err)
			}
			keys = append(keys, k)
		}
	}
	slices.Reverse(keys) // of the keys of an algorithm the last signs
	s.signing.derived = signingkeys.NewSet(keys...)
}

// ErrSealedKeys: none of Config.Secrets opens the signing keys in the store.
var ErrSealedKeys = errors.New("authsvc: none of Secrets opens the signing keys in the store")

// openSigningKeys reads the keys, and makes the first of a new store.
func (s *Service) openSigningKeys(ctx context.Context) error {
	switch {
	case !s.signing.enabled:
		return nil
	case !s.signing.stored:
		s.signing.use(s.signing.derived)
		return nil
	}
	set, stale, err := s.readKeys(ctx)
	if errors.Is(err, ErrNotFound) {
		set, err = s.firstKeys(ctx)
	}
	switch {
	case errors.Is(err, ErrSealedKeys):
		return &ConfigError{Field: "Secrets", Problem: "has none that opens the signing keys in the store",
			Fix: "put the secret that sealed them back as a further entry; if it is lost, replace the keys by Service.RotateKeys, at once (tokens that are out are refused from then on)"}
	case err != nil:
		return storeUnusable(err)
	}
	s.signing.use(set)
	if stale {
		err = s.resealKeys(ctx)
	}
	made, failed := s.advanceKeys(ctx)
	s.signing.made = append(s.signing.made, made...)
	if err = errors.Join(err, failed); err != nil {
		s.log.Warn("signing keys are due and could not be made or sealed anew; that is tried again", "err", err)
	}
	if slices.ContainsFunc(s.signing.plan.Algs, func(alg string) bool { return s.signing.known.Load().set.Signing(alg, s.now()) == nil }) {
		return &ConfigError{Field: "Tokens.Audiences", Problem: "name an algorithm that has no signing key yet, and none could be made", Fix: "look at the log, and start again"}
	}
	return nil
}

// firstKeys makes the keys of a new store. Of replicas that do so at the same time
// one is first, and all have its keys.
func (s *Service) firstKeys(ctx context.Context) (signingkeys.Set, error) {
	set, made, err := signingkeys.Set{}.Advance(s.now(), s.signing.plan)
	if err != nil {
		return set, err
	}
	sealed, err := s.sealKeys(set)
	if err != nil {
		return set, err
	}
	stored, err := s.adapter.PutMeta(ctx, metaKeys, sealed)
	if err != nil {
		return set, err
	}
	if stored != sealed {
		set, _, err = s.unsealKeys(stored)
		return set, err
	}
	s.signing.made = made
	return set, nil
}

// readKeys reads the record. stale means that it was sealed with a secret that is
// not the first.
func (s *Service) readKeys(ctx context.Context) (set signingkeys.Set, stale bool, err error) {
	sealed, err := s.adapter.GetMeta(ctx, metaKeys)
	if err != nil {
		return signingkeys.Set{}, false, err
	}
	return s.unsealKeys(sealed)
}

func (s *Service) unsealKeys(sealed string) (set signingkeys.Set, stale bool, err error) {
	text, stale, err := s.signing.box.Open(sealed, metaKeys)
	if err != nil {
		return signingkeys.Set{}, false, ErrSealedKeys
	}
	set, err = signingkeys.Decode(text)
	return set, stale, err
}

func (s *Service) sealKeys(set signingkeys.Set) (string, error) {
	text, err := set.Encode()
	return s.signing.box.Seal(text, metaKeys), err
}

// pollKeys follows the keys in the store until ctx ends. While they cannot be
// read, those that are known go on by their times.
func (s *Service) pollKeys(ctx context.Context) {
	failed, record := false, ""
	for sleep(ctx, keysPoll) {
		err := s.followKeys(ctx, &record)
		if err != nil && !failed && ctx.Err() == nil {
			s.log.Error("signing keys could not be read or made; those that are known go on", "err", err)
		}
		failed = err != nil
	}
}

// followKeys opens the record in the store unless it is the one of the last time:
// one that is written is never sealed alike.
func (s *Service) followKeys(ctx context.Context, record *string) error {
	reading, cancel := context.WithTimeout(ctx, leaseCall)
	sealed, err := s.adapter.GetMeta(reading, metaKeys)
	cancel()
	if err != nil {
		return err
	}
	if sealed != *record {
		set, _, err := s.unsealKeys(sealed)
		if err != nil {
			return err
		}
		s.signing.use(set)
		*record = sealed
	}
	made, err := s.advanceKeys(ctx)
	s.recordKeys(ctx, made)
	return err
}

// resealKeys seals the record with the first secret. Only a start does that:
// while secrets are rotated, running replicas differ about which is the first.
func (s *Service) resealKeys(ctx context.Context) error {
	return s.changeKeys(ctx, false, func(set signingkeys.Set, stale bool) (signingkeys.Set, error) {
		if !stale {
			return set, errSameKeys
		}
		return set, nil
	})
}

// advanceKeys makes the keys that are due and returns them. Another replica may be
// doing it.
func (s *Service) advanceKeys(ctx context.Context) (made []*signingkeys.Key, err error) {
	if !s.signing.known.Load().set.Due(s.now(), s.signing.plan) {
		return nil, nil
	}
	err = s.changeKeys(ctx, false, func(set signingkeys.Set, _ bool) (after signingkeys.Set, err error) {
		if !set.Due(s.now(), s.signing.plan) {
			return set, errSameKeys // another replica was first
		}
		after, made, err = set.Advance(s.now(), s.signing.plan)
		return after, err
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// errSameKeys: there is nothing to change.
var errSameKeys = errors.New("authsvc: the signing keys are as they should be")

// changeKeys replaces the record by what change makes of it, under the lease;
// stale is that of readKeys. The lease is taken once more right before the write,
// whose call is short: a process that was suspended meanwhile does not write over
// another's keys. A record that cannot be opened is replaced only if that is
// asked for.
func (s *Service) changeKeys(ctx context.Context, evenSealed bool, change func(set signingkeys.Set, stale bool) (signingkeys.Set, error)) error {
	holder := uuid.V7()
	release, err := s.leaseAs(ctx, metaKeys, holder)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, leaseFor)
	defer cancel()
	set, stale, err := s.readKeys(ctx)
	if err != nil && !errors.Is(err, ErrNotFound) && !(evenSealed && errors.Is(err, ErrSealedKeys)) {
		return err
	}
	set, err = change(set, stale)
	if errors.Is(err, errSameKeys) {
		s.signing.use(set)
		return nil
	}
	if err != nil {
		return err
	}
	sealed, err := s.sealKeys(set)
	if err != nil {
		return err
	}
	if err := s.takeLease(ctx, metaKeys, holder); err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, leaseCall)
	defer cancel()
	if err := s.writeKeys(ctx, sealed); err != nil {
		return err
	}
	s.signing.use(set)
	return nil
}

func (s *Service) writeKeys(ctx context.Context, sealed string) error {
	stored, err := s.adapter.PutMeta(ctx, metaKeys, sealed)
	if err != nil || stored == sealed {
		return err
	}
	return s.adapter.SetMeta(ctx, metaKeys, sealed)
}

// recordKeys says that keys were made.
func (s *Service) recordKeys(ctx context.Context, made []*signingkeys.Key) {
	for _, k := range made {
		reason := "a new key signs from now on"
		if s.now().Before(k.From) {
			reason = "the next key is published"
		}
		s.log.Info("a signing key was made", "kid", k.ID, "alg", k.Alg, "signs_from", k.From.UTC().Format(time.RFC3339))
		s.recordAtOnce(ctx, AuditEvent{Name: "keys.rotated", Reason: reason})
	}
}

// A SigningKey is a key of GET jwks.
type SigningKey struct {
	ID    string          `json:"kid"` // RFC 7638 thumbprint
	Alg   SigningAlg      `json:"alg"`
	State SigningKeyState `json:"state"`
	// When it was published, when it begins and ceases to sign, and when it is
	// not published any more; zero: not known, or, without a store, when Secrets
	// change.
	Published time.Time `json:"published,omitzero"`
	From      time.Time `json:"from,omitzero"`
	Until     time.Time `json:"until,omitzero"`
	Gone      time.Time `json:"gone,omitzero"`
}

// SigningKeyState is what a key does at present.
type SigningKeyState string

// The states.
const (
	KeyNext     SigningKeyState = "next"     // published, does not sign yet
	KeySigning  SigningKeyState = "signing"  // signs
	KeyPrevious SigningKeyState = "previous" // its tokens may still be out
)

// ErrNoTokens: no audience is configured, so there are no signing keys.
var ErrNoTokens = errors.New("authsvc: no tokens are configured, so there are no signing keys")

// ErrDerivedKeys: without a store signing keys follow from Config.Secrets, and
// change with them.
var ErrDerivedKeys = errors.New("authsvc: without storage the signing keys follow from the secrets: rotate those")

// SigningKeys returns the keys of GET jwks as they are in the store, by algorithm
// and in the order in which they sign. ErrNoTokens: there are none;
// ErrSealedKeys: they cannot be read.
func (s *Service) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	set := s.signing.derived
	switch {
	case !s.signing.enabled:
		return nil, ErrNoTokens
	case s.signing.stored:
		var err error
		if set, _, err = s.readKeys(ctx); err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	now := s.now()
	var list []SigningKey
	for _, alg := range signingkeys.Algorithms() {
		for _, k := range set.Keys() {
			if k.Alg != alg {
				continue
			}
			one := SigningKey{ID: k.ID, Alg: SigningAlg(alg), State: KeyPrevious, Published: k.Made, From: k.From, Until: set.Until(k), Gone: set.Gone(k)}
			if k == set.Signing(alg, now) {
				one.State = KeySigning
			} else if now.Before(k.From) {
				one.State = KeyNext
			}
			list = append(list, one)
		}
	}
	return list, nil
}

// RotateKeys makes the next key of every algorithm in use and returns those that
// it made: none if they are published already. A key signs a day later; with
// atOnce after a minute, when all replicas publish it. If none of Secrets opens the
// keys in the store, atOnce replaces them, and tokens that are out are refused.
// ErrNoTokens, ErrDerivedKeys, ErrSealedKeys and ErrBusy are the errors beside those of the store.
func (s *Service) RotateKeys(ctx context.Context, atOnce bool) (ids []string, err error) {
	if err := s.keysCanChange(); err != nil {
		return nil, err
	}
	var made []*signingkeys.Key
	err = s.changeKeys(ctx, atOnce, func(set signingkeys.Set, _ bool) (after signingkeys.Set, err error) {
		after, made, err = set.Rotate(s.now(), s.signing.plan, atOnce)
		return after, err
	})
	if err != nil {
		return nil, err
	}
	s.recordKeys(ctx, made)
	for _, k := range made {
		ids = append(ids, k.ID)
	}
	return ids, nil
}

// RetireKey takes a key out of the set, and with it all tokens that it signed:
// programs that verify them refuse them as soon as they read the set again. If it
// signs, its successor does from now on. ErrNotFound: there is no such key; the
// other errors are those of RotateKeys.
func (s *Service) RetireKey(ctx context.Context, id string) error {
	if err := s.keysCanChange(); err != nil {
		return err
	}
	var made []*signingkeys.Key
	err := s.changeKeys(ctx, false, func(set signingkeys.Set, _ bool) (after signingkeys.Set, err error) {
		var ok bool
		if after, made, ok, err = set.Retire(id, s.now(), s.signing.plan); err == nil && !ok {
			err = fmt.Errorf("%w: no signing key has that id", ErrNotFound)
		}
		return after, err
	})
	if err != nil {
		return err
	}
	s.recordAtOnce(ctx, AuditEvent{Name: "keys.retired", Reason: "an operator took a key out of the set"})
	s.recordKeys(ctx, made)
	return nil
}

func (s *Service) keysCanChange() error {
	switch {
	case !s.signing.enabled:
		return ErrNoTokens
	case !s.signing.stored:
		return ErrDerivedKeys
	}
	return nil
}
