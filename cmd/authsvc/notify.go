package main

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"time"
)

// States of the service for its service manager (sd_notify(3)).
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
)

// notify reports a state to the service manager at the socket NOTIFY_SOCKET, a path or,
// after @, an abstract name. Without that variable it does nothing: no service manager
// waits for the state. A failure is logged, and the service continues.
func (p *program) notify(log *slog.Logger, state string) {
	name := p.env["NOTIFY_SOCKET"]
	if name == "" {
		return
	}
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "@") { // sd_notify refuses relative paths, and so does this
		log.Warn("cannot notify the service manager: NOTIFY_SOCKET must be an absolute path, or @ and a name")
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unixgram", name) // Go reads @ as the beginning of an abstract name
	if err == nil {
		defer conn.Close()
		if err = conn.SetDeadline(time.Now().Add(time.Second)); err == nil {
			_, err = conn.Write([]byte(state))
		}
	}
	if err != nil {
		log.Warn("cannot notify the service manager", "state", state, "err", err)
	}
}
