package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/seal"
	"authsvc/internal/seal/signingkeys"
)

// Keys holds the methods for the signing keys of tokens, for [Service] and [Operator].
type Keys struct{ of *issuer }

// SigningKeys returns the keys of GET jwks as stored, sorted by algorithm and then by
// the order in which they sign. It returns ErrNoTokens if the service issues no tokens,
// and ErrSealedKeys if the keys cannot be decrypted.
func (k Keys) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	return k.of.SigningKeys(ctx)
}

// RotateKeys makes the next key of every algorithm in use and returns the IDs of the
// new keys. Without atOnce, it makes none for an algorithm whose next key is already
// published, and a key signs a day later. With atOnce, it always makes new keys, which
// sign after a minute, when all replicas publish them. If none of Secrets opens the
// stored keys, atOnce replaces them, and existing tokens are refused. Apart from store
// errors, it returns ErrNoTokens, ErrDerivedKeys, ErrSealedKeys or ErrBusy.
func (k Keys) RotateKeys(ctx context.Context, atOnce bool) (ids []string, err error) {
	return k.of.RotateKeys(ctx, atOnce)
}

// RetireKey removes a key and so invalidates all tokens that it signed: programs that
// verify them refuse them as soon as they read the key set again. If the key is
// signing, its successor signs from now on. RetireKey returns ErrNotFound if there is
// no such key, and otherwise the errors of RotateKeys.
func (k Keys) RetireKey(ctx context.Context, id string) error {
	return k.of.RetireKey(ctx, id)
}

// keysPoll is how often a replica reads the signing keys from the store. keysPoll and
// fleet.LeaseCall together are less than signingkeys.Spread, so all replicas publish a
// key made with atOnce before it signs.
const keysPoll = 20 * time.Second

// signing holds the signing keys of tokens as this replica knows them. With a store,
// keys are stored encrypted and made under a lease. Without one, they are derived from
// the secrets.
type signing struct {
	enabled bool // tokens are issued
	stored  bool
	plan    signingkeys.Plan
	box     *seal.Box
	derived signingkeys.Set
	known   atomic.Pointer[knownKeys]
	made    []*signingkeys.Key // at start, not recorded yet
}

// knownKeys holds a key set, the answer of GET jwks for it, and what verifies its
// tokens.
type knownKeys struct {
	set      signingkeys.Set
	jwks     asset
	verifier oidc.KeySet
}

func (k *signing) use(set signingkeys.Set) {
	published := set.JWKS()
	verifier, _ := oidc.ParseKeySet(published) // without a key, it refuses every token
	k.known.Store(&knownKeys{set, publicDocument(published), verifier})
}

// deriveKeys derives the key that encrypts stored signing keys. Without a store, it also
// derives the signing keys themselves.
func (is *issuer) deriveKeys(ring *seal.Ring) {
	is.signing.box = ring.Box("signing keys")
	if is.signing.stored || !is.signing.enabled {
		return
	}
	var keys []*signingkeys.Key
	for _, alg := range is.signing.plan.Algs {
		var numbers [8][][]byte // by number and secret
		for n := range numbers {
			numbers[n] = ring.Derive("signing key "+alg+" "+strconv.Itoa(n)+" "+is.site.base, 32)
		}
		for i := range numbers[0] {
			k, err := signingkeys.Derive(alg, func(n int) []byte { return numbers[n][i] })
			if err != nil { // checkTokens refused algorithms that cannot be derived
				panic(err)
			}
			keys = append(keys, k)
		}
	}
	slices.Reverse(keys) // the last key of an algorithm signs
	is.signing.derived = signingkeys.NewSet(keys...)
}

// openSigningKeys reads the keys, and makes the first ones in a new store.
func (is *issuer) openSigningKeys(ctx context.Context) error {
	switch {
	case !is.signing.enabled:
		return nil
	case !is.signing.stored:
		is.signing.use(is.signing.derived)
		return nil
	}
	set, stale, err := is.readKeys(ctx)
	if errors.Is(err, adapter.ErrNotFound) {
		set, err = is.firstKeys(ctx)
	}
	switch {
	case errors.Is(err, ErrSealedKeys):
		return &authsvc.ConfigError{Code: "signing_keys_sealed", Field: "Secrets", Problem: "has no entry that opens the signing keys in the store",
			Fix: "add the secret that sealed them as a further entry; if it is lost, replace the keys at once with Service.RotateKeys (existing tokens are refused from then on)"}
	case err != nil:
		return storeUnusable(err)
	}
	is.signing.use(set)
	if stale {
		err = is.resealKeys(ctx)
	}
	made, failed := is.advanceKeys(ctx)
	is.signing.made = append(is.signing.made, made...)
	if err = errors.Join(err, failed); err != nil {
		is.Log.Warn("cannot make or reseal signing keys that are due; will retry", "err", err)
	}
	if slices.ContainsFunc(is.signing.plan.Algs, func(alg string) bool { return is.signing.known.Load().set.Signing(alg, is.fleet.Now()) == nil }) {
		return &authsvc.ConfigError{Field: "Tokens.Audiences", Problem: "name an algorithm that has no signing key yet, and making one failed", Fix: "read the log, and restart"}
	}
	return nil
}

// firstKeys makes the keys of a new store. If several replicas do so at the same time,
// the first one wins, and all use its keys.
func (is *issuer) firstKeys(ctx context.Context) (signingkeys.Set, error) {
	set, made, err := signingkeys.Set{}.Advance(is.fleet.Now(), is.signing.plan)
	if err != nil {
		return set, err
	}
	sealed, err := is.sealKeys(set)
	if err != nil {
		return set, err
	}
	stored, err := is.Adapter.PutMeta(ctx, metaKeys, sealed)
	if err != nil {
		return set, err
	}
	if stored != sealed {
		set, _, err = is.unsealKeys(stored)
		return set, err
	}
	is.signing.made = made
	return set, nil
}

// readKeys reads the stored keys. It reports as stale whether they were sealed with a
// secret other than the first.
func (is *issuer) readKeys(ctx context.Context) (set signingkeys.Set, stale bool, err error) {
	sealed, err := is.Adapter.GetMeta(ctx, metaKeys)
	if err != nil {
		return signingkeys.Set{}, false, err
	}
	return is.unsealKeys(sealed)
}

func (is *issuer) unsealKeys(sealed string) (set signingkeys.Set, stale bool, err error) {
	text, stale, err := is.signing.box.Open(sealed, metaKeys)
	if err != nil {
		return signingkeys.Set{}, false, ErrSealedKeys
	}
	set, err = signingkeys.Decode(text)
	return set, stale, err
}

func (is *issuer) sealKeys(set signingkeys.Set) (string, error) {
	text, err := set.Encode()
	return is.signing.box.Seal(text, metaKeys), err
}

// pollKeys follows the stored keys until ctx ends. While they cannot be read, the known
// keys stay in use according to their times.
func (is *issuer) pollKeys(ctx context.Context) {
	failed, record := false, ""
	for fleet.Sleep(ctx, keysPoll) {
		err := is.followKeys(ctx, &record)
		if err != nil && !failed && ctx.Err() == nil {
			is.Log.Error("cannot read or make signing keys; the known keys stay in use", "err", err)
		}
		failed = err != nil
	}
}

// followKeys opens the stored record unless it is unchanged. Sealing never produces the
// same record twice.
func (is *issuer) followKeys(ctx context.Context, record *string) error {
	reading, cancel := context.WithTimeout(ctx, fleet.LeaseCall)
	sealed, err := is.Adapter.GetMeta(reading, metaKeys)
	cancel()
	if err != nil {
		return err
	}
	if sealed != *record {
		set, _, err := is.unsealKeys(sealed)
		if err != nil {
			return err
		}
		is.signing.use(set)
		*record = sealed
	}
	made, err := is.advanceKeys(ctx)
	is.recordKeys(ctx, made)
	return err
}

// resealKeys seals the record with the first secret. This only happens at start: during
// a rotation of secrets, running replicas disagree about which one is first.
func (is *issuer) resealKeys(ctx context.Context) error {
	return is.changeKeys(ctx, false, func(set signingkeys.Set, stale bool) (signingkeys.Set, error) {
		if !stale {
			return set, errSameKeys
		}
		return set, nil
	})
}

// advanceKeys makes the keys that are due and returns them. Another replica may make
// them first.
func (is *issuer) advanceKeys(ctx context.Context) (made []*signingkeys.Key, err error) {
	if !is.signing.known.Load().set.Due(is.fleet.Now(), is.signing.plan) {
		return nil, nil
	}
	err = is.changeKeys(ctx, false, func(set signingkeys.Set, _ bool) (after signingkeys.Set, err error) {
		if !set.Due(is.fleet.Now(), is.signing.plan) {
			return set, errSameKeys // another replica was first
		}
		after, made, err = set.Advance(is.fleet.Now(), is.signing.plan)
		return after, err
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// errSameKeys says that there is nothing to change.
var errSameKeys = errors.New("authsvc: the signing keys are up to date")

// changeKeys replaces the record with the result of change, under the lease. stale is
// the result of readKeys. changeKeys takes the lease again right before the write,
// which is a short call. A process that was suspended meanwhile therefore does not
// overwrite another's keys. It replaces a record that cannot be opened only if
// evenSealed is set.
func (is *issuer) changeKeys(ctx context.Context, evenSealed bool, change func(set signingkeys.Set, stale bool) (signingkeys.Set, error)) error {
	holder := seal.UUIDv7()
	release, err := is.fleet.LeaseAs(ctx, metaKeys, holder)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, fleet.LeaseFor)
	defer cancel()
	set, stale, err := is.readKeys(ctx)
	if err != nil && !errors.Is(err, adapter.ErrNotFound) && !(evenSealed && errors.Is(err, ErrSealedKeys)) {
		return err
	}
	set, err = change(set, stale)
	if errors.Is(err, errSameKeys) {
		is.signing.use(set)
		return nil
	}
	if err != nil {
		return err
	}
	sealed, err := is.sealKeys(set)
	if err != nil {
		return err
	}
	if err := is.fleet.TakeLease(ctx, metaKeys, holder); err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, fleet.LeaseCall)
	defer cancel()
	if err := is.writeKeys(ctx, sealed); err != nil {
		return err
	}
	is.signing.use(set)
	return nil
}

func (is *issuer) writeKeys(ctx context.Context, sealed string) error {
	stored, err := is.Adapter.PutMeta(ctx, metaKeys, sealed)
	if err != nil || stored == sealed {
		return err
	}
	return is.Adapter.SetMeta(ctx, metaKeys, sealed)
}

// recordKeys logs and audits that keys were made.
func (is *issuer) recordKeys(ctx context.Context, made []*signingkeys.Key) {
	for _, k := range made {
		reason := "a new key signs from now on"
		if is.fleet.Now().Before(k.From) {
			reason = "the next key is published"
		}
		is.Log.Info("a signing key was made", "kid", k.ID, "alg", k.Alg, "signs_from", k.From.UTC().Format(time.RFC3339))
		is.auditor.RecordAtOnce(ctx, authsvc.AuditEvent{Name: "keys.rotated", Reason: reason})
	}
}

// SigningKeys implements [Service.SigningKeys].
func (is *issuer) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	set := is.signing.derived
	switch {
	case !is.signing.enabled:
		return nil, ErrNoTokens
	case is.signing.stored:
		var err error
		if set, _, err = is.readKeys(ctx); err != nil && !errors.Is(err, adapter.ErrNotFound) {
			return nil, err
		}
	}
	now := is.fleet.Now()
	var list []SigningKey
	for _, alg := range signingkeys.Algorithms() {
		for _, k := range set.Keys() {
			if k.Alg != alg {
				continue
			}
			one := SigningKey{ID: k.ID, Alg: authsvc.SigningAlg(alg), State: KeyPrevious, Published: k.Made, From: k.From, Until: set.Until(k), Gone: set.Gone(k)}
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

// RotateKeys implements [Service.RotateKeys].
func (is *issuer) RotateKeys(ctx context.Context, atOnce bool) (ids []string, err error) {
	if err := is.keysCanChange(); err != nil {
		return nil, err
	}
	var made []*signingkeys.Key
	err = is.changeKeys(ctx, atOnce, func(set signingkeys.Set, _ bool) (after signingkeys.Set, err error) {
		after, made, err = set.Rotate(is.fleet.Now(), is.signing.plan, atOnce)
		return after, err
	})
	if err != nil {
		return nil, err
	}
	is.recordKeys(ctx, made)
	for _, k := range made {
		ids = append(ids, k.ID)
	}
	return ids, nil
}

// RetireKey implements [Service.RetireKey].
func (is *issuer) RetireKey(ctx context.Context, id string) error {
	if err := is.keysCanChange(); err != nil {
		return err
	}
	var made []*signingkeys.Key
	err := is.changeKeys(ctx, false, func(set signingkeys.Set, _ bool) (after signingkeys.Set, err error) {
		var ok bool
		if after, made, ok, err = set.Retire(id, is.fleet.Now(), is.signing.plan); err == nil && !ok {
			err = fmt.Errorf("%w: no signing key has that id", adapter.ErrNotFound)
		}
		return after, err
	})
	if err != nil {
		return err
	}
	is.auditor.RecordAtOnce(ctx, authsvc.AuditEvent{Name: "keys.retired", Reason: "an operator removed a key"})
	is.recordKeys(ctx, made)
	return nil
}

func (is *issuer) keysCanChange() error {
	switch {
	case !is.signing.enabled:
		return ErrNoTokens
	case !is.signing.stored:
		return ErrDerivedKeys
	}
	return nil
}

// issuerEvents lists the events of signing keys and personal access tokens.
var issuerEvents = []audit.Kind{
	{Name: "pat.created", Outcome: authsvc.AuditSuccess, Meaning: "A personal access token was made for a user."},
	{Name: "pat.revoked", Outcome: authsvc.AuditSuccess, Meaning: "A personal access token of a user was revoked, or several or all of them: the reason says which."},
	{Name: "pat.refused", Outcome: authsvc.AuditRefused, Meaning: "A personal access token was refused: it is malformed, unknown, expired or sealed under a lost secret, its user is blocked, or it is not for that audience or host."},
	{Name: "keys.rotated", Outcome: authsvc.AuditSuccess, Meaning: "A signing key for tokens was made. It begins to sign a day later, or after a minute if an operator asked for that; the first key signs immediately."},
	{Name: "keys.retired", Outcome: authsvc.AuditSuccess, Meaning: "An operator removed a signing key. The tokens that it signed are no longer valid."},
}

// publicDocument returns a JSON document that anyone may read and caches may keep.
func publicDocument(raw []byte) asset {
	return asset{body: raw, contentType: "application/json", cache: "public, max-age=900", etag: `"` + seal.Digest(string(raw))[:22] + `"`}
}
