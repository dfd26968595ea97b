// Package fleet holds what the replicas of a service share and runs a service's work
// outside of requests: the clock of the store, leases, single-use keys, tasks and
// sealed records. It does not depend on HTTP.
package fleet

import (
	"errors"
	"fmt"
	"log/slog"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/seal"
)

// Common holds what the program passes to every storey and room.
type Common struct {
	Log       *slog.Logger
	Adapter   adapter.Adapter // without storage: the result of NoStorage
	Callbacks authsvc.Callbacks
	Events    authsvc.Events
}

// A Fleet gives a service access to what its replicas share: the clock of the store,
// leases and sealed records. It also runs the service's tasks outside of requests.
type Fleet struct {
	*Common
	clock         storeClock
	background    background
	credentialBox *seal.Box    // seals Credential.Data; see placeOf
	warned        *ReplayCache // what was logged within the last minute
}

// ErrStore marks failures of the store. Scripts are answered 503.
var ErrStore = errors.New("the store failed")

// StoreFailed marks err, an error of the adapter, with [ErrStore].
func StoreFailed(err error) error { return fmt.Errorf("%w: %w", ErrStore, err) }

// Emit calls an event handler. A panic of the handler does not fail the request.
func (fl *Fleet) Emit(name string, call func()) {
	defer fl.Recovered(name+" event", func() {})
	call()
}

// Recovered logs a panic of the application's code and calls undo. It must be deferred.
func (fl *Fleet) Recovered(what string, undo func()) {
	if v := recover(); v != nil {
		fl.Log.Error("panic in the application's code", "in", what, "panic", fmt.Sprintf("%.200v", v))
		undo()
	}
}
