// Package fleet has what the replicas of a service share, and what a service does
// outside of requests: the clock of the store, leases, what is used up once, tasks
// and sealed records. It knows no HTTP.
package fleet

import (
	"errors"
	"fmt"
	"log/slog"

	"authsvc"
	"authsvc/internal/seal"
)

// Given is what every storey and room has from the program.
type Given struct {
	Log       *slog.Logger
	Adapter   authsvc.Adapter // what NoStorage returns, without storage
	Callbacks authsvc.Callbacks
	Events    authsvc.Events
}

// A Fleet is what replicas share, and what goes on outside of requests: the clock of the
// store, leases, tasks and sealed records.
type Fleet struct {
	*Given
	clock         storeClock
	background    background
	credentialBox *seal.Box    // of Credential.Data; see placeOf
	warned        *ReplayCache // what was logged within the last minute
}

// ErrStore marks failures of the store: the answer to scripts is 503.
var ErrStore = errors.New("the store could not be asked")

// Emit calls an event handler, which cannot fail the request.
func (fl *Fleet) Emit(name string, call func()) {
	defer fl.Recovered(name+" event", func() {})
	call()
}

// Recovered turns a panic of the application's code into undo and a log line.
// It is deferred.
func (fl *Fleet) Recovered(what string, undo func()) {
	if v := recover(); v != nil {
		fl.Log.Error("panic in the application's code", "in", what, "panic", fmt.Sprintf("%.200v", v))
		undo()
	}
}
