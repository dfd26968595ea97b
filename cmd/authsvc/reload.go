package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
)

// retireTime bounds how long a generation lives on for its requests, which end
// by the deadlines of the server, and for the mail in hand.
const retireTime = 2 * time.Minute

// maxRetiring is how many generations may be ending at a time. A reload waits
// for one of them to go.
const maxRetiring = 16

// A reloader replaces the generation on the stage when it is asked to.
type reloader struct {
	*program
	handlers *handlerSwitch
	store    *store
	flags    map[string]string // of the command line, which still rank first
	retiring chan struct{}     // has an element for each generation that is ending
	id       string            // of this process among the replicas
}

// run reloads once for each element of asked until ctx ends, and notes for
// check which secrets are in force. Signals that come during a reload are one.
func (n *reloader) run(ctx context.Context, asked <-chan os.Signal) {
	defer n.withdraw(ctx)
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.heartbeat(ctx)
			continue
		case <-asked:
		}
		select {
		case <-ctx.Done():
			return
		case n.retiring <- struct{}{}:
		}
		if !n.reload(ctx) {
			<-n.retiring
			continue
		}
		n.heartbeat(ctx)
	}
}

// reload reads file and environment and shows what they describe. If there is
// anything wrong with that, nothing changes and the log says all of it.
func (n *reloader) reload(ctx context.Context) bool {
	before := n.handlers.instance()
	next, err := n.next(before)
	if err != nil {
		n.logRefusal(ctx, before, err)
		return false
	}
	n.handlers.swap(next)
	go func() {
		defer func() { <-n.retiring }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retireTime)
		defer cancel()
		if err := before.retire(ctx); err != nil {
			next.originHandler.log.Warn("what began before the reload did not end in time", "err", err)
		}
	}()
	next.originHandler.log.Info("configuration reloaded", "providers", providerNames(next.settings))
	next.service.ConfigurationChanged(ctx, nil)
	return true
}

// next makes the generation after the given one.
func (n *reloader) next(before *instance) (*instance, error) {
	s, err := n.loadSettings(n.flags)
	if err == nil {
		err = checkUnchangeable(before.settings, s)
	}
	if err != nil {
		return nil, err
	}
	s.Engine.Logger, s.Engine.Adapter = n.sink.logger(s.Log), n.store.Adapter
	for _, w := range s.Warnings {
		s.Engine.Logger.Warn(w)
	}
	service, err := before.service.Reconfigure(s.Engine)
	if err != nil {
		return nil, s.Explain(err)
	}
	f := newOriginHandler(service.BaseURL(), service, s.Engine.Logger, service.Ready)
	f.ready = before.ready
	f.ready.setPing(service.Ready)
	return &instance{originHandler: f, settings: s, service: service}, nil
}

// logRefusal says why a configuration does not come into force.
func (n *reloader) logRefusal(ctx context.Context, current *instance, err error) {
	log := current.originHandler.log
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) {
		mistakes = config.Mistakes{{Problem: oneLine(err)}}
	}
	for _, m := range mistakes {
		log.LogAttrs(ctx, slog.LevelError, "not reloaded: "+m.String())
	}
	log.Error(fmt.Sprintf("not reloaded: the configuration from before stays in force (mistakes: %d)", len(mistakes)))
	current.service.ConfigurationChanged(ctx, err)
}

// checkUnchangeable refuses changes that only a restart can make.
func checkUnchangeable(old, next *config.Settings) error {
	var mistakes config.Mistakes
	for _, c := range []struct {
		key  string
		same bool
	}{
		{"listen", old.Listen == next.Listen},
		{"compat", sameCompat(old.Engine.Compat, next.Engine.Compat)},
		{"storage.url", old.Storage.URL == next.Storage.URL},
		{"storage.prefix", old.Storage.Prefix == next.Storage.Prefix},
		{"storage.naming", reflect.DeepEqual(old.Storage.Naming, next.Storage.Naming)},
		{"session.store", old.Storage.Sessions == next.Storage.Sessions},
	} {
		if !c.same {
			mistakes = append(mistakes, next.Mistake(c.key, "was changed, which takes a restart", "restart the service, or change it back"))
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}

// sameCompat compares modes; the empty one is the default.
func sameCompat(a, b authsvc.Compat) bool {
	return a == b || (a == "" || a == authsvc.CompatNone) && (b == "" || b == authsvc.CompatNone)
}

// awaitRetired waits until no generation is ending, or ctx ends.
func (n *reloader) awaitRetired(ctx context.Context) {
	for range cap(n.retiring) {
		select {
		case n.retiring <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// startReloading begins to reload when it is asked to, until Close.
func (p *program) startReloading(st *store, l *server) *instances {
	ctx, cancel := context.WithCancel(p.ctx)
	g := &instances{stop: cancel, done: make(chan struct{}), reloader: &reloader{program: p, handlers: &l.handlerSwitch, store: st,
		flags: l.flags, retiring: make(chan struct{}, maxRetiring), id: rand.Text()}}
	g.heartbeat(ctx)
	go func() {
		defer close(g.done)
		g.run(ctx, l.reloadSignals)
	}()
	return g
}

// instances are all that the engine was since the start.
type instances struct {
	*reloader
	stop context.CancelFunc
	done chan struct{} // no more of them
}

// Close ends the current generation and those before it.
func (g *instances) Close(ctx context.Context) error {
	g.stop()
	select {
	case <-g.done:
	case <-ctx.Done():
	}
	err := g.handlers.instance().service.Close(ctx)
	g.awaitRetired(ctx)
	return err
}
