package authsvc

import "time"

// lifetime says how long a session lives: maxAge since its last extension,
// absolute since the person proved who they are.
type lifetime struct {
	maxAge, updateAge, absolute time.Duration
}

// end is when a session ends that is extended now, in whole milliseconds.
func (l *lifetime) end(authTime, now time.Time) time.Time {
	end, last := now.Add(l.maxAge), authTime.Add(l.absolute)
	if last.Before(end) {
		end = last
	}
	return end.Truncate(time.Millisecond)
}

// due reports whether a session that was extended at that time is to be
// extended again.
func (l *lifetime) due(extended, now time.Time) bool {
	return now.Sub(extended) >= l.updateAge
}
