package idp

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// State is the data that survives a restart.
type State struct {
	People []Person `json:"people"`

	// Keys are private signing keys, PKCS #8 in DER, newest first.
	Keys [][]byte `json:"keys"`
}

// Store keeps a [State]. A provider calls it from one goroutine at a time.
type Store interface {
	// Load returns the saved state, or the zero State if there is none yet.
	Load() (State, error)
	// Save replaces the whole state, or leaves the old one untouched.
	Save(State) error
}

// loadState loads people and keys from the store and the options, and saves newly
// created ones.
func (p *Provider) loadState(opts Options) error {
	var state State
	if p.store != nil {
		var err error
		if state, err = p.store.Load(); err != nil {
			return fmt.Errorf("cannot load the state: %w", err)
		}
	}
	p.people = state.People
	if len(p.people) == 0 {
		p.people = slices.Clone(opts.People)
	}
	if opts.People == nil && len(p.people) == 0 {
		p.people = DefaultPeople()
	}
	if err := checkPeople(p.people); err != nil {
		return err
	}
	if err := p.loadKeys(opts, state.Keys); err != nil {
		return err
	}
	return p.save(p.people, p.keys)
}

// loadKeys chooses the signing key: the given one, else a stored one if the stored keys
// have the requested algorithm, else a new one.
func (p *Provider) loadKeys(opts Options, stored [][]byte) error {
	if opts.Key != nil {
		key, err := newSigningKey(opts.Key)
		if err != nil {
			return err
		}
		if opts.Alg != "" && opts.Alg != key.alg {
			return fmt.Errorf("alg is %s but the key is for %s", opts.Alg, key.alg)
		}
		p.keys, p.alg, p.spared = []*signingKey{key}, key.alg, stored
		return nil
	}
	p.keepKeys = true
	for i, der := range stored {
		key, err := parseSigningKey(der)
		if err != nil {
			return fmt.Errorf("stored key %d: %w", i, err)
		}
		p.keys = append(p.keys, key)
	}
	p.alg = opts.Alg
	if p.alg == "" && len(p.keys) > 0 {
		p.alg = p.keys[0].alg
	}
	if p.alg == "" {
		p.alg = algRS256
	}
	if len(p.keys) > 0 && p.keys[0].alg == p.alg {
		return nil
	}
	key, err := generateKey(p.alg)
	if err != nil {
		return err
	}
	p.keys = slices.Insert(p.keys, 0, key)
	return nil
}

// save writes the given people and keys. The caller must hold p.mu, except New.
func (p *Provider) save(people []Person, keys []*signingKey) error {
	if p.store == nil {
		return nil
	}
	state := State{People: people, Keys: slices.Clone(p.spared)}
	if p.keepKeys {
		for _, key := range keys {
			der, err := x509.MarshalPKCS8PrivateKey(key.signer)
			if err != nil {
				return errors.New("cannot save the state: cannot encode the signing key")
			}
			state.Keys = append(state.Keys, der)
		}
	}
	if err := p.store.Save(state); err != nil {
		return fmt.Errorf("cannot save the state: %w", err)
	}
	return nil
}
