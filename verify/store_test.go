package verify

import (
	"sync/atomic"
	"testing"

	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/test/arena/stores"
)

var storeChecks = checks{
	"01": {title: "special characters of a store stay data", once: true, run: store01},
	"02": {title: "identities and tokens are compared byte for byte", once: true, run: store02},
	"03": {title: "the store itself keeps records unique", once: true, run: store03},
	"04": {title: "a store that fails at any call leaves nothing half done", once: true, run: store04},
	"05": {title: "times survive zones, fractions and 2038", once: true, run: store05},
	"06": {title: "a Redis that evicts is refused", once: true, least: ci, run: store06},
	"07": {title: "keys in Redis expire only after their records do, and no others expire", once: true, least: ci, run: store07},
	"08": {title: "Mongo write concern / replica failover", not: "needs a MongoDB replica set; the tests use FerretDB, which has one node; the adapter sets w:majority and reads from the primary"},
	"09": {title: "PostgreSQL: reads go to the server that takes writes", once: true, least: ci, run: store09},
	"10": {title: "the contract suite, on every store", once: true, run: store10},
	"11": {title: "frequent calls in a large store", once: true, alone: true, run: store11},
	"12": {title: "remote store without TLS, or with the wrong certificate", once: true, run: store12},
	"13": {title: "long and unusual values are stored whole or refused", once: true, run: store13},
}

// A storeShared is a store that another process can open too.
type storeShared struct {
	adapter.Adapter
	env []string
}

// Reopen implements [adaptertest.Reopener].
func (s storeShared) Reopen(t *testing.T) adapter.Adapter { return storeAt(t, s.env) }

// Unwrap implements [adaptertest.Unwrapper]: the store also keeps audit events.
func (s storeShared) Unwrap() adapter.Adapter { return s.Adapter }

// store10 also counts the cases, because a suite that lost most of them would pass.
func store10(t *T) {
	t.Stores(func(t *T, kind stores.Kind) {
		var cases atomic.Int64
		t.T.Run("contract", func(inner *testing.T) {
			adaptertest.Run(inner, func(c *testing.T) adapter.Adapter {
				cases.Add(1)
				if kind.Name == "memory" {
					return kind.Open(c)
				}
				env := kind.Env(c, c.TempDir())
				return storeShared{storeAt(c, env), env}
			})
		})
		if cases.Load() < 60 {
			t.Errorf("%d cases, want 60 or more", cases.Load())
		}
		t.Figure("%d cases for each store", cases.Load())
	})
}
