// Package seal is the cryptographic core of authsvc: everything that leaves the
// process and must come back unread or unchanged goes through here.
//
// A [Ring] holds the secrets of a deployment. From it come [Sealer] values,
// which turn bytes into compact JWE tokens and back (RFC 7516), [MAC] values,
// which authenticate strings without hiding them, and [Box] values, which hide
// text that is kept in a certain place. Each is made for one
// purpose and has a key of its own, derived with HKDF-SHA256 (RFC 5869), so
// that what was made for one purpose means nothing to another.
//
// Three token formats are spoken: our own ([Ring.Sealer]), that of NextAuth.js
// v4 ([Ring.NextAuthV4]) and that of Auth.js v5 ([Ring.AuthJSV5]). In all three
// the key is used directly ("alg":"dir"); there is no other algorithm to choose,
// nothing is inflated and no key is fetched.
//
// The package looks neither into the plaintext nor at the clock: claims such as
// exp are the caller's business. All values are immutable after construction
// and safe for concurrent use.
package seal
