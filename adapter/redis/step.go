package redis

import (
	"context"
	"crypto/sha1" // #nosec G505 -- not for security: Redis names scripts so
	"embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"authsvc/adapter"
	"authsvc/internal/text"
)

//go:embed script/*.lua
var scripts embed.FS

// A step is a script that Redis runs as a whole and on its own. Its text is loaded on
// first use.
type step struct {
	name   string
	repeat bool // running it twice has the same effect and result as running it once
	gather bool // it only reads, and little, so it may share a pipeline

	load sync.Once
	text string
	sum  string // SHA-1 by which Redis identifies the script
}

// nonIdempotent returns a step that must not be retried after its answer was lost: if
// it did run, a retry would conflict with itself.
func nonIdempotent(name string) *step { return &step{name: name} }

// idempotent returns a step that may be retried.
func idempotent(name string) *step { return &step{name: name, repeat: true} }

// read returns a step that only reads a few records.
func read(name string) *step { return &step{name: name, repeat: true, gather: true} }

// script returns the text of a step and the text's SHA-1.
func (st *step) script() (text, sum string) {
	st.load.Do(func() {
		st.text = withRecords(source(st.name))
		digest := sha1.Sum([]byte(st.text)) // #nosec G401 -- not for security: Redis names scripts so
		st.sum = hex.EncodeToString(digest[:])
	})
	return st.text, st.sum
}

func source(name string) string {
	text, err := scripts.ReadFile("script/" + name + ".lua")
	if err != nil {
		panic(err) // scripts are embedded in the program
	}
	return string(text)
}

// withRecords puts the declarations of records.lua that a step uses, directly or through
// others, before the step. Redis runs the whole text at each call, and all declarations
// would cost it more than a short step does.
func withRecords(step string) string {
	declarations := strings.Split(comment.ReplaceAllString(source("records"), ""), "\nlocal ")[1:]
	used := map[string]bool{}
	use := func(code string) {
		for _, word := range word.FindAllString(code, -1) {
			used[word] = true
		}
	}
	use(step)
	keep := make([]bool, len(declarations))
	for i, d := range slices.Backward(declarations) { // each uses only earlier ones
		names, _, _ := strings.Cut(d, "\n")
		names, _, _ = strings.Cut(strings.TrimPrefix(names, "function "), "(")
		names, _, _ = strings.Cut(names, "=")
		if keep[i] = slices.ContainsFunc(word.FindAllString(names, -1), func(name string) bool { return used[name] }); keep[i] {
			use(d)
		}
	}
	var b strings.Builder
	for i, d := range declarations {
		if keep[i] {
			b.WriteString("local " + d + "\n")
		}
	}
	return b.String() + step
}

// Parts of a script in Lua.
var (
	comment = text.LazyRegexp(`(?m)--.*$`)
	word    = text.LazyRegexp(`\w+`)
)

// run runs a step and returns its answer. If the answer stands for an error of
// [adapter.Adapter], run returns that error.
func (s *Store) run(ctx context.Context, st *step, keys []string, args ...any) (any, error) {
	line := make([]any, 0, 4+len(keys)+len(args))
	text, sum := st.script()
	line = append(line, "evalsha", sum, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	line = append(append(line, s.tag), args...)
	answer, err := s.perform(ctx, st, line)
	if goredis.HasErrorPrefix(err, "NOSCRIPT") { // the server is new or has restarted
		whole := append([]any{"eval", text}, line[2:]...)
		answer, err = s.perform(ctx, st, whole)
	}
	if err != nil {
		return nil, err
	}
	return answer, outcome(answer)
}

// perform sends the command line of a step.
func (s *Store) perform(ctx context.Context, st *step, line []any) (any, error) {
	return attempts(ctx, st.name, st.repeat, func() (any, error) {
		command := goredis.NewCmd(ctx, line...)
		if st.gather {
			return s.reads.send(ctx, s.client, command)
		}
		return s.send(ctx, command)
	})
}

// outcome returns the error that a word stands for. Data is always a list or a number,
// never a word.
func outcome(answer any) error {
	switch answer {
	case "NOTFOUND":
		return adapter.ErrNotFound
	case "CONFLICT":
		return adapter.ErrConflict
	case "STALE":
		return adapter.ErrStale
	case "MANY":
		return adapter.ErrTooMany
	case "FULL":
		return adapter.ErrQueueFull
	}
	return nil
}

// do runs a step that returns nothing.
func (s *Store) do(ctx context.Context, st *step, keys []string, args ...any) error {
	_, err := s.run(ctx, st, keys, args...)
	return err
}

// list runs a step that returns a list.
func (s *Store) list(ctx context.Context, st *step, keys []string, args ...any) ([]any, error) {
	answer, err := s.run(ctx, st, keys, args...)
	if err != nil {
		return nil, err
	}
	list, ok := answer.([]any)
	if !ok {
		return nil, fmt.Errorf("redis: %s: unexpected answer %T", st.name, answer)
	}
	return list, nil
}

// count runs a step that returns a number.
func (s *Store) count(ctx context.Context, st *step, keys []string, args ...any) (int64, error) {
	answer, err := s.run(ctx, st, keys, args...)
	if err != nil {
		return 0, err
	}
	n, ok := answer.(int64)
	if !ok {
		return 0, fmt.Errorf("redis: %s: unexpected answer %T", st.name, answer)
	}
	return n, nil
}
