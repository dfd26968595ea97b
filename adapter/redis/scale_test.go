package redis

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"authsvc/adapter"
)

// scaled returns AUTHSVC_SCALE, a number of users, or 0 if it is not set.
func scaled(t *testing.T) int {
	t.Helper()
	text := os.Getenv("AUTHSVC_SCALE")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		t.Fatalf("AUTHSVC_SCALE is %q; it is a number of users, at least 1000", text)
	}
	return n
}

// Limits for reading the log: three million records within readMost, and blockMost for
// each command, since Redis runs nothing else meanwhile. Time is measured on the
// server's processor, which other programs use too.
const (
	readMost  = 10 * time.Second
	blockMost = 20 * time.Millisecond
)

// TestScaleRevocations reads a log of three records per user in the engine's pages, and
// reads again when there is nothing new. Without AUTHSVC_SCALE there are few users and
// no time limits.
func TestScaleRevocations(t *testing.T) {
	t.Parallel()
	users := scaled(t)
	records := 3 * max(users, 5000)
	p := start(t)
	p.admin("config", "set", "slowlog-log-slower-than", "1000")
	p.admin("config", "set", "slowlog-max-len", "100000")
	s := open(t, p.url(), newPrefix())
	fillLog(t, s, records)
	t.Logf("%d records; Redis %s", records, memoryOf(t, s))
	writes := slowest(t, s)
	p.admin("slowlog", "reset")

	began, used, n, after := time.Now(), cpu(t, s), 0, int64(0)
	for {
		list, next, err := s.Revocations(t.Context(), after, 5000)
		if err != nil {
			t.Fatal(err)
		}
		n += len(list)
		if next == after {
			break
		}
		after = next
	}
	took, reads := time.Since(began), slowest(t, s)
	block := (cpu(t, s) - used) / time.Duration(n/logPage+1)
	poll := median(t, func() error { _, _, err := s.Revocations(t.Context(), after, 5000); return err })
	t.Logf("read in %v; a command took Redis %v of its processor, and the longest %v by the clock (writes of %d: %v); poll when nothing is new %v",
		took, block, reads, batch, writes, poll)
	if n != records {
		t.Errorf("read %d of %d records", n, records)
	}
	if users > 0 && (took > readMost || block > blockMost || poll > time.Millisecond) {
		t.Errorf("too slow")
	}
}

// fillLog writes revocations of sessions, as sign-outs do.
func fillLog(t *testing.T, s *Store, n int) {
	t.Helper()
	expires := time.Now().Add(720 * time.Hour)
	for i := 0; i < n; i += batch {
		var list []*adapter.Revocation
		for j := i; j < min(i+batch, n); j++ {
			list = append(list, &adapter.Revocation{Key: fmt.Sprintf("sid:0123456789012345678901234567890123456%06d", j), NotBefore: time.Now(), Expires: expires})
		}
		if err := s.Revoke(t.Context(), list...); err != nil {
			t.Fatal(err)
		}
	}
}

func memoryOf(t *testing.T, s *Store) string {
	t.Helper()
	info, err := s.info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info["used_memory_human"]
}

// cpu returns the processor time that the server has used.
func cpu(t *testing.T, s *Store) (used time.Duration) {
	t.Helper()
	info, err := s.info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		d, err := time.ParseDuration(info[name] + "s")
		if err != nil {
			t.Fatal(err)
		}
		used += d
	}
	return used
}

// slowest returns the duration of the slowest command, among those of a millisecond or
// more.
func slowest(t *testing.T, s *Store) (most time.Duration) {
	t.Helper()
	list, err := s.client.SlowLogGet(t.Context(), -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		most = max(most, entry.Duration)
	}
	return most
}

func median(t *testing.T, f func() error) time.Duration {
	t.Helper()
	var times []time.Duration
	for range 101 {
		began := time.Now()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[len(times)/2]
}
