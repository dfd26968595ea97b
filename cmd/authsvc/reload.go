package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
)

// retireTime limits how long a replaced instance lives. It waits for mail that is being
// sent, and for its requests, which end by the deadlines of the server.
const retireTime = 2 * time.Minute

// maxRetiring is how many replaced instances may be ending at once. At the limit, a
// reload waits until one has ended.
const maxRetiring = 16

// A reloader replaces the current instance on request.
type reloader struct {
	*program
	handlers *handlerSwitch
	store    *store
	flags    map[string]string // from the command line; they override the file
	retiring chan struct{}     // one element for each instance that is ending
	id       string            // identifies this process among the replicas
}

// run reloads once for each element of asked until ctx is done. It also records the
// secrets in force for the check command. Signals during a reload count as one.
func (r *reloader) run(ctx context.Context, asked <-chan os.Signal) {
	defer r.withdraw(ctx)
	r.heartbeat(ctx)
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.heartbeat(ctx)
			continue
		case <-asked:
		}
		select {
		case <-ctx.Done():
			return
		case r.retiring <- struct{}{}:
		}
		if !r.reload(ctx) {
			<-r.retiring
			continue
		}
		r.heartbeat(ctx)
	}
}

// reload applies the file and the environment. If anything is wrong with them, it logs
// every mistake and changes nothing.
func (r *reloader) reload(ctx context.Context) bool {
	before := r.handlers.instance()
	next, err := r.next(before)
	if err != nil {
		r.logRefusal(ctx, before, err)
		return false
	}
	r.handlers.swap(next)
	go func() {
		defer func() { <-r.retiring }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retireTime)
		defer cancel()
		if err := before.retire(ctx); err != nil {
			next.log.Warn("work from before the reload did not end in time", "err", err)
		}
	}()
	next.log.Info("configuration reloaded", "providers", providerNames(next.settings))
	next.service.ConfigurationChanged(ctx, nil)
	return true
}

// next returns the instance that replaces before.
func (r *reloader) next(before *instance) (*instance, error) {
	s, err := r.loadSettings(r.flags)
	if err == nil {
		err = checkUnchangeable(before.settings, s)
	}
	if err != nil {
		return nil, err
	}
	s.Engine.Logger, s.Engine.Adapter = r.sink.logger(s.Log), r.store.Adapter
	for _, w := range s.Warnings {
		s.Engine.Logger.Warn(w)
	}
	shareConnections(s) // applies the programs' share; the clients' share stays in the listener
	service, err := before.service.Reconfigure(s.Engine)
	if err != nil {
		return nil, s.Explain(err)
	}
	in := newInstance(s, service)
	in.ready, in.advises = before.ready, before.advises
	in.ready.setPing(service.Ready)
	return in, nil
}

// logRefusal logs why a configuration was not applied.
func (r *reloader) logRefusal(ctx context.Context, current *instance, err error) {
	log := current.log
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) {
		mistakes = config.Mistakes{{Problem: oneLine(err)}}
	}
	for _, m := range mistakes {
		log.LogAttrs(ctx, slog.LevelError, "not reloaded: "+m.String())
	}
	log.Error(fmt.Sprintf("not reloaded: the previous configuration stays in force (mistakes: %d)", len(mistakes)))
	current.service.ConfigurationChanged(ctx, err)
}

// checkUnchangeable refuses changes that require a restart.
func checkUnchangeable(old, next *config.Settings) error {
	var mistakes config.Mistakes
	for _, c := range []struct {
		key  string
		same bool
	}{
		{"listen", old.Listen == next.Listen},
		{"admin.listen", old.Admin.Listen == next.Admin.Listen},
		{"admin.allow_remote", old.Admin.AllowRemote == next.Admin.AllowRemote},
		{"debug.listen", old.Debug == next.Debug},
		{"compat", sameCompat(old.Engine.Compat, next.Engine.Compat)},
		{"storage.url", old.Storage.URL == next.Storage.URL},
		{"storage.prefix", old.Storage.Prefix == next.Storage.Prefix},
		{"storage.naming", sameNaming(old.Storage.Naming, next.Storage.Naming)},
		{"storage.user_columns", slices.Equal(old.Storage.Naming.UserColumns, next.Storage.Naming.UserColumns)},
		{"session.store", old.Storage.Sessions == next.Storage.Sessions},
	} {
		if !c.same {
			mistakes = append(mistakes, next.Mistake(c.key, "was changed, which requires a restart", "restart the service, or change it back"))
		}
	}
	if hasPrograms(old) != hasPrograms(next) { // the listener's limit is set at the start
		mistakes = append(mistakes, next.Mistake("gate.hosts", "gained its first upstream or lost its last one, which requires a restart", "restart the service, or change it back"))
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}

// sameNaming compares the names of the interface's tables and columns.
func sameNaming(a, b config.Naming) bool {
	a.UserColumns, b.UserColumns = nil, nil
	return reflect.DeepEqual(a, b)
}

// sameCompat compares compat modes. An empty mode is the default.
func sameCompat(a, b authsvc.Compat) bool {
	return a == b || (a == "" || a == authsvc.CompatNone) && (b == "" || b == authsvc.CompatNone)
}

// awaitRetired waits until no instance is ending or ctx is done.
func (r *reloader) awaitRetired(ctx context.Context) {
	for range cap(r.retiring) {
		select {
		case r.retiring <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// startReloading reloads on every signal to the server until Close.
func (p *program) startReloading(st *store, srv *server) *instances {
	ctx, cancel := context.WithCancel(p.ctx)
	all := &instances{stop: cancel, done: make(chan struct{}), reloader: &reloader{program: p, handlers: &srv.handlerSwitch, store: st,
		flags: srv.flags, retiring: make(chan struct{}, maxRetiring), id: rand.Text()}}
	go func() {
		defer close(all.done)
		all.run(ctx, srv.reloadSignals)
	}()
	return all
}

// instances holds the current instance and the ones that are ending.
type instances struct {
	*reloader
	stop context.CancelFunc
	done chan struct{} // closed when there are no more reloads
}

// EndStreams ends responses that programs behind the gate are still sending.
func (all *instances) EndStreams() { all.handlers.instance().service.EndStreams() }

// Close ends all instances.
func (all *instances) Close(ctx context.Context) error {
	all.stop()
	select {
	case <-all.done:
	case <-ctx.Done():
	}
	err := all.handlers.instance().service.Close(ctx)
	all.awaitRetired(ctx)
	return err
}
