package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"authsvc/internal/sql/stores"
)

// schemaVersion is the version of the record layout in script/records.lua.
const schemaVersion = 3

var schemaStep = idempotent("schema")

// ask sends a read-only command.
func (s *Store) ask(ctx context.Context, words ...any) (any, error) {
	return s.call(ctx, fmt.Sprint(words[0]), true, func() *goredis.Cmd { return goredis.NewCmd(ctx, words...) })
}

// info returns the fields of INFO: few or none if the user may not run it.
func (s *Store) info(ctx context.Context) (map[string]string, error) {
	answer, err := s.ask(ctx, "info")
	if goredis.IsPermissionError(err) || unknownCommand(err) {
		return nil, nil
	}
	text, _ := answer.(string)
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info, err
}

// setting returns a value from the server's configuration. known is false if the user
// may not read it, as in managed services.
func (s *Store) setting(ctx context.Context, name string) (value string, known bool, err error) {
	answer, err := s.ask(ctx, "config", "get", name)
	var reply goredis.Error
	if errors.As(err, &reply) && !notExecuted(err) {
		return "", false, nil
	}
	if list, ok := answer.([]any); ok && len(list) == 2 {
		value, known = list[1].(string)
	}
	return value, known, err
}

// check refuses a server that cannot keep the records safely, and collects warnings.
func (s *Store) check(ctx context.Context, info map[string]string) error {
	if err := s.checkVersion(info["redis_version"]); err != nil {
		return err
	}
	if err := s.checkEviction(ctx, info); err != nil {
		return err
	}
	return s.checkPersistence(ctx, info)
}

func (s *Store) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

func (s *Store) checkVersion(version string) error {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n < 2 {
		s.warn("the server does not report its version; it must be 6.2 or newer")
		return nil
	}
	if major < 6 || major == 6 && minor < 2 {
		return fmt.Errorf("the server is Redis %s: 6.2 or newer is required", version)
	}
	return nil
}

// checkEviction refuses a server that may evict sessions, revocations or users.
func (s *Store) checkEviction(ctx context.Context, info map[string]string) error {
	limit, policy := info["maxmemory"], info["maxmemory_policy"]
	for name, value := range map[string]*string{"maxmemory": &limit, "maxmemory-policy": &policy} {
		if *value != "" {
			continue
		}
		var err error
		if *value, _, err = s.setting(ctx, name); err != nil {
			return err
		}
	}
	switch {
	case policy == "":
		s.warn("the server does not report its maxmemory-policy; it must be noeviction")
	case policy == "noeviction":
	case limit == "0":
		s.warn("maxmemory-policy is %s: set it to noeviction before you limit maxmemory", policy)
	default:
		return fmt.Errorf("maxmemory-policy is %s, so Redis deletes users, sessions or revocations when memory is short: "+
			"set it to noeviction (CONFIG SET maxmemory-policy noeviction, and in redis.conf)", policy)
	}
	return nil
}

func (s *Store) checkPersistence(ctx context.Context, info map[string]string) error {
	appendOnly, known, err := s.setting(ctx, "appendonly")
	if err != nil {
		return err
	}
	if !known {
		return s.warnHiddenPersistence(info["aof_enabled"])
	}
	snapshots, _, err := s.setting(ctx, "save")
	if err != nil {
		return err
	}
	sync, _, err := s.setting(ctx, "appendfsync")
	switch {
	case err != nil:
		return err
	case appendOnly != "yes" && snapshots == "":
		s.warn("the server keeps nothing on disk: a restart loses all records (set appendonly yes and appendfsync always)")
	case appendOnly != "yes":
		s.warn("the server keeps only snapshots: a crash loses all writes since the last one (set appendonly yes)")
	case sync != "always":
		s.warn("appendfsync is %s: a crash may lose the last second of acknowledged writes, or more (set appendfsync always)", sync)
	}
	return nil
}

// warnHiddenPersistence warns if the server does not reveal how it persists records.
func (s *Store) warnHiddenPersistence(appendOnly string) error {
	if appendOnly == "0" {
		s.warn("the server keeps no append-only file: a crash may lose acknowledged writes")
		return nil
	}
	s.warn("the server does not report how it keeps records on disk: a crash may lose acknowledged writes")
	return nil
}

// checkSchema refuses the schema of a newer build and migrates an older one.
func (s *Store) checkSchema(ctx context.Context) error {
	list, err := s.list(ctx, schemaStep, []string{s.tag + "schema", s.tag + "addresses-listed"}, schemaVersion)
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(row{list}.text(0), 10, 64)
	if err != nil || version < 1 {
		return fmt.Errorf("the key %sschema does not belong to authsvc: use another prefix", s.tag)
	}
	if version > schemaVersion {
		return stores.TooNew(version, schemaVersion)
	}
	if err := s.moveLog(ctx); err != nil {
		return err
	}
	return s.listAddresses(ctx)
}

// withRemedy adds advice to an error.
func withRemedy(err error) error {
	switch {
	case err == nil:
		return nil
	case goredis.HasErrorPrefix(err, "NOAUTH"):
		return fmt.Errorf("the server requires a password: put it into the URL, redis://user:password@host:port (%w)", err)
	case goredis.IsAuthError(err) || !Unreachable(err) && strings.Contains(err.Error(), "failed to authenticate"):
		return fmt.Errorf("the server refuses the user or the password of the URL: correct them (%w)", err)
	case goredis.HasErrorPrefix(err, "SELECT is not allowed in cluster mode"):
		return errCluster
	case goredis.IsPermissionError(err):
		return fmt.Errorf("the user of the URL lacks permissions: allow +@all ~{prefix}:* (%w)", err)
	case readOnly(err):
		return fmt.Errorf("this is a replica, which cannot write: give the address of the primary (%w)", err)
	case misconfigured(err):
		return fmt.Errorf("TLS failed: check the certificate, and whether the URL must begin with rediss:// or redis:// (%w)", err)
	case goredis.HasErrorPrefix(err, "DB index is out of range"):
		return fmt.Errorf("the server has fewer databases: correct the number at the end of the URL (%w)", err)
	case goredis.HasErrorPrefix(err, "max number of clients reached"):
		return fmt.Errorf("the server accepts no further connection: raise its maxclients (%w)", err)
	case answered(err):
		return fmt.Errorf("the server answers, but is not ready: wait, or look at its log (%w)", err)
	case Unreachable(err):
		return fmt.Errorf("the server cannot be reached: check that it runs, address and port, and whether the URL must begin with rediss:// or redis:// (%w)", err)
	}
	return err
}

func unknownCommand(err error) bool { return goredis.HasErrorPrefix(err, "unknown command") }
