// Package seal is the cryptographic core of authsvc. Everything that leaves the process
// and must come back unread or unchanged passes through it.
//
// A [Ring] holds the secrets of a deployment and makes three kinds of values. A
// [Sealer] turns bytes into compact JWE tokens and back (RFC 7516). A [MAC]
// authenticates strings without hiding them. A [Box] encrypts text and binds it to the
// place where it is stored. Each is made for one purpose and has its own key, derived
// with HKDF-SHA256 (RFC 5869), so its output is meaningless for any other purpose.
//
// The package supports three token formats: its own ([Ring.Sealer]), NextAuth.js v4
// ([Ring.NextAuthV4]) and Auth.js v5 ([Ring.AuthJSV5]). All three use the key directly
// ("alg":"dir"). There is no other algorithm to choose; the package never decompresses
// anything and never fetches a key.
//
// The package reads neither the plaintext nor the clock: the caller must check claims
// such as exp. All values are immutable after construction and safe for concurrent use.
package seal
