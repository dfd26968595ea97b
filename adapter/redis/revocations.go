package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"authsvc/adapter"
)

// logPage is the number of revocations that one command reads. Redis runs nothing else
// meanwhile.
const logPage = 1000

// moveBatch is the number of schema 1 records that one step moves.
const moveBatch = 100

var (
	revoke  = idempotent("revoke") // a retry also covers what began in between
	logMove = idempotent("log_move")
)

var (
	errLog  = errors.New("redis: cannot read an entry of the revocation log")
	errTime = errors.New("redis: the server does not report the time")
)

// Revoke implements [adapter.Adapter].
func (s *Store) Revoke(ctx context.Context, list ...*adapter.Revocation) error {
	var args []any
	for _, r := range list {
		args = append(args, revocationFields(r)...)
	}
	numbers, err := s.list(ctx, revoke, []string{s.tag + "log"}, args...)
	for i := range numbers {
		list[i].Seq = row{numbers}.number(i)
	}
	return err
}

// Revocations implements [adapter.Adapter]. Steps are committed one by one in the order
// of their numbers, so the last number is the cursor.
func (s *Store) Revocations(ctx context.Context, after int64, limit int) (list []adapter.Revocation, next int64, err error) {
	for next = after; len(list) < limit; {
		size := min(limit-len(list), logPage)
		entries, err := s.logAfter(ctx, next, size)
		if err != nil {
			return nil, after, err
		}
		for _, text := range entries {
			r, err := revocation(text)
			if err != nil {
				return nil, after, err
			}
			list, next = append(list, r), r.Seq
		}
		if len(entries) < size {
			break
		}
	}
	return list, next, nil
}

func (s *Store) logAfter(ctx context.Context, after int64, size int) ([]any, error) {
	answer, err := s.call(ctx, "revocations", true, func() *goredis.Cmd {
		return goredis.NewCmd(ctx, "zrangebyscore", s.tag+"log", "("+strconv.FormatInt(after, 10), "+inf", "limit", 0, size)
	})
	entries, _ := answer.([]any)
	return entries, err
}

// revocation parses an entry of the log; see script/records.lua.
func revocation(entry any) (r adapter.Revocation, err error) {
	text, _ := entry.(string)
	var numbers [3]int64
	for i := range numbers {
		number, rest, _ := strings.Cut(text, " ")
		if numbers[i], err = strconv.ParseInt(number, 10, 64); err != nil {
			return r, errLog
		}
		text = rest
	}
	user, key, whole := unpair(text)
	if !whole {
		return r, errLog
	}
	return adapter.Revocation{Key: key, UserID: user, Seq: numbers[0],
		NotBefore: time.UnixMilli(numbers[1]).UTC(), Expires: time.UnixMilli(numbers[2]).UTC()}, nil
}

// moveLog moves the revocations of schema 1 into the log. If it is interrupted, the
// next call finishes it. Several processes may call it at once.
func (s *Store) moveLog(ctx context.Context) error {
	for {
		n, err := s.count(ctx, logMove, []string{s.tag + "revocations"}, moveBatch)
		if err != nil || n < moveBatch {
			return err
		}
	}
}

// Now implements [adapter.Clock].
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	answer, err := s.ask(ctx, "time")
	if err != nil {
		return time.Time{}, err
	}
	parts := rowOf(answer)
	if parts.number(0) == 0 {
		return time.Time{}, errTime
	}
	return time.Unix(parts.number(0), parts.number(1)*1000).UTC(), nil
}
