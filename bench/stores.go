package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	goredis "github.com/redis/go-redis/v9"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/redis"
	"authsvc/internal/seal"
	"authsvc/internal/test/scale"
)

// errLeftOut means that something needed for a part is missing.
type errLeftOut string

func (e errLeftOut) Error() string { return string(e) }

// A store is a filled database, shared by a service and its floor.
type store struct {
	url        string // storage.url
	location   string // for the floor
	population scale.Population
	pins       func() []int // moves the database's processes to serverCore; nil: it has none
	close      func()
}

// Kinds of stores.
const (
	onSQLite   = "SQLite"
	onPostgres = "PostgreSQL"
	onRedis    = "Redis"
)

// openStore creates a store of users with five sessions each. It adds ended expired
// sessions.
func (b *bench) openStore(ctx context.Context, kind string, users, ended int) (*store, error) {
	return b.openPopulation(ctx, kind, scale.Population{Seed: 1, Users: users, Accounts: 2, Sessions: 5, Ended: ended, Now: b.now})
}

func (b *bench) openPopulation(ctx context.Context, kind string, p scale.Population) (*store, error) {
	s := &store{population: p}
	if p.Users > people {
		fmt.Fprintf(os.Stderr, "filling %s with %d users\n", kind, p.Users)
	}
	var err error
	switch kind {
	case onSQLite:
		err = b.openSQLite(ctx, s)
	case onPostgres:
		err = b.openPostgres(ctx, s)
	case onRedis:
		return s, b.openRedis(ctx, s)
	default:
		return nil, fmt.Errorf("unknown store %q", kind)
	}
	if err != nil {
		return nil, err
	}
	if err := scale.Fill(ctx, s.url, s.population, func(string) {}); err != nil {
		s.close()
		return nil, fmt.Errorf("fill %s: %w", kind, err)
	}
	return s, nil
}

func (b *bench) openSQLite(_ context.Context, s *store) error {
	dir, err := os.MkdirTemp(b.files, "sqlite")
	if err != nil {
		return err
	}
	s.location = filepath.Join(dir, "bench.db")
	s.url = "sqlite:" + s.location
	s.close = func() { os.RemoveAll(dir) }
	return nil
}

// postgresVariable names the variable for the server on which databases may be
// created.
const postgresVariable = "AUTHSVC_TEST_POSTGRES_URL"

// openPostgres creates a database on the server for tests.
func (b *bench) openPostgres(ctx context.Context, s *store) error {
	server := os.Getenv(postgresVariable)
	if server == "" {
		return errLeftOut(postgresVariable + " names no PostgreSQL")
	}
	u, err := url.Parse(server)
	if err != nil {
		return errors.New(postgresVariable + " is not a URL")
	}
	b.databases++
	name := fmt.Sprintf("authsvc_bench_%d_%d", os.Getpid(), b.databases)
	err = execPostgres(ctx, server, "CREATE DATABASE "+name)
	if away := (*pgconn.ConnectError)(nil); errors.As(err, &away) {
		return errLeftOut("PostgreSQL cannot be reached: " + away.Error())
	}
	if err != nil {
		return err
	}
	u.Path = "/" + name
	s.url, s.location = u.String(), u.String()
	s.pins = func() []int { return pinBackends(name) }
	s.close = func() {
		_ = execPostgres(context.WithoutCancel(ctx), server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	}
	return nil
}

func execPostgres(ctx context.Context, location, statement string) error {
	conn, err := pgx.Connect(ctx, location)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// openRedis starts a Redis that keeps nothing on disk, and fills it with the adapter.
func (b *bench) openRedis(ctx context.Context, s *store) error {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return errLeftOut("redis-server is missing: apt-get install redis-server")
	}
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	_, port, _ := strings.Cut(addr, ":")
	cmd := exec.CommandContext(ctx, program, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", b.dir) // #nosec G204 -- numbers and own names
	if err := cmd.Start(); err != nil {
		return err
	}
	s.close = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	s.url, s.location = "redis://"+addr+"/0", "redis://"+addr+"/0"
	s.pins = func() []int {
		if pin(cmd.Process.Pid) != nil {
			return nil
		}
		return []int{cmd.Process.Pid}
	}
	if err := fillRedis(ctx, s); err != nil {
		s.close()
		return fmt.Errorf("fill Redis: %w", err)
	}
	return nil
}

// awaitPort waits until the host of a URL accepts connections.
func awaitPort(location string) error {
	u, err := url.Parse(location)
	if err != nil {
		return err
	}
	for range 200 {
		var conn net.Conn
		if conn, err = net.Dial("tcp", u.Host); err == nil {
			return conn.Close()
		}
		time.Sleep(25 * time.Millisecond)
	}
	return err
}

func fillRedis(ctx context.Context, s *store) error {
	if err := awaitPort(s.url); err != nil {
		return err
	}
	r, err := redis.Open(ctx, s.url, redis.Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	for i := range s.population.Users {
		u, err := r.CreateUser(ctx, authsvc.User{
			ID: fmt.Sprintf("01890000-0000-7000-8000-%012d", i), Name: fmt.Sprintf("Person %07d", i), Email: fmt.Sprintf("person%07d@mail.example", i),
			Image: fmt.Sprintf("https://images.example/avatars/%07d.png", i),
		}, nil)
		if err != nil {
			return err
		}
		for k := range s.population.Accounts {
			if _, err := r.LinkAccount(ctx, authsvc.Account{
				ID: fmt.Sprintf("01890000-0000-7000-9%03d-%012d", k, i), UserID: u.ID, Type: "oauth", Provider: fmt.Sprintf("provider%d", k),
				ProviderAccountID: fmt.Sprint(10_000_000 + i), AccessToken: seal.Digest(u.ID), ExpiresAt: s.population.Now.Unix(), TokenType: "bearer", Scope: "openid email profile",
			}, 0); err != nil {
				return err
			}
		}
		for k := range s.population.Sessions {
			digest := seal.Digest(s.population.Cookie(i*s.population.Sessions + k))
			if _, err := r.CreateSession(ctx, adapter.SessionRecord{
				ID: digest, SessionToken: "sha256:" + digest, Digest: digest, UserID: u.ID,
				Began: s.population.Now, Expires: s.population.Now.Add(30 * 24 * time.Hour), Provider: "provider0",
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// cookies returns cookies of sessions spread evenly over the store.
func (s *store) cookies() (list []string) {
	n := s.population.Users * s.population.Sessions
	for k := 0; k < n && len(list) < 10_000; k += max(n/10_000, 1) {
		list = append(list, sessionCookie+"="+s.population.Cookie(k))
	}
	return list
}

// size returns the size of the database in MiB; with Redis, in memory.
func (s *store) size(ctx context.Context) (float64, error) {
	switch {
	case strings.HasPrefix(s.url, "sqlite"):
		return fileSize(s.location), nil
	case strings.HasPrefix(s.url, "redis"):
		return redisMemory(ctx, s.url)
	}
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	var bytes int64
	err = conn.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&bytes)
	return float64(bytes) / (1 << 20), err
}

func redisMemory(ctx context.Context, location string) (float64, error) {
	o, err := goredis.ParseURL(location)
	if err != nil {
		return 0, err
	}
	client := goredis.NewClient(o)
	defer client.Close()
	text, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(text, "used_memory:")
	number, _, _ := strings.Cut(after, "\r\n")
	bytes, err := strconv.ParseFloat(number, 64)
	return bytes / (1 << 20), err
}
