package authsvc

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
)

// emit calls an event handler, which cannot fail the request.
func (s *Service) emit(name string, call func(), wanted bool) {
	if !wanted {
		return
	}
	defer s.recovered(name+" event", func() {})
	call()
}

// recovered turns a panic of the application's code into undo and a log line.
// It is deferred.
func (s *Service) recovered(what string, undo func()) {
	if v := recover(); v != nil {
		s.log.Error("panic in the application's code", "in", what, "panic", fmt.Sprintf("%.200v", v))
		undo()
	}
}

// audit records one security-relevant fact.
func (rq *request) audit(name string, code ErrorCode, reason string) {
	rq.audited = true
	rq.record(rq.ctx, AuditEvent{Name: name, Code: code, Reason: reason, Provider: rq.providerID(),
		RequestID: rq.requestID(), ClientIP: rq.clientIP().String()})
}

// record writes an audit event to the log and tells it.
func (s *Service) record(ctx context.Context, e AuditEvent) {
	attrs := []slog.Attr{slog.String("event", e.Name), slog.String("code", string(e.Code)), slog.String("reason", e.Reason), slog.String("provider", e.Provider)}
	for _, a := range []slog.Attr{slog.String("user", e.UserID), slog.String("client", e.ClientIP), slog.String("request", e.RequestID)} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "audit", attrs...)
	s.emit("audit", func() { s.events.Audit(ctx, e) }, s.events.Audit != nil)
}

// lastToFirst yields the elements of a comma-separated header from the right.
func lastToFirst(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s != "" {
			i := strings.LastIndexByte(s, ',')
			if !yield(strings.TrimSpace(s[i+1:])) || i < 0 {
				return
			}
			s = s[:i]
		}
	}
}
