package authsvc

import (
	"fmt"
	"iter"
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
