package redis

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"

	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/servertest"
)

// init raises ioTimeout: the test machine may be busy.
func init() { ioTimeout = time.Minute }

// open opens a store. At the end of the test it closes the store and deletes its keys.
func open(t testing.TB, url, prefix string) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, Options{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		clean(t, s)
		s.Close()
	})
	return s
}

func newPrefix() string { return "test-" + rand.Text() }

// keys returns the names of all keys of a store.
func keys(t testing.TB, s *Store) (names []string) {
	t.Helper()
	ctx := t.Context()
	scan := s.client.Scan(ctx, 0, s.tag+"*", 1000).Iterator()
	for scan.Next(ctx) {
		names = append(names, scan.Val())
	}
	if err := scan.Err(); err != nil {
		t.Error(err)
	}
	return names
}

// clean deletes all keys of a store, unless its server is gone.
func clean(t testing.TB, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	scan := s.client.Scan(ctx, 0, s.tag+"*", 1000).Iterator()
	for scan.Next(ctx) {
		s.client.Unlink(ctx, scan.Val())
	}
}

// A server is a place for a test's records: in this process, which is always available,
// or a real server.
type server struct {
	name string
	url  func(t testing.TB) string
}

func servers() []server {
	return []server{{"miniredis", miniURL}, {"redis", realURL}}
}

// each runs a test on every server.
func each(t *testing.T, test func(t *testing.T, url string)) {
	for _, s := range servers() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s.url(t))
		})
	}
}

func miniURL(t testing.TB) string {
	return "redis://" + miniredis.RunT(t).Addr()
}

// realURL returns AUTHSVC_TEST_REDIS_URL, or the URL of a server on the usual port.
func realURL(t testing.TB) string {
	t.Helper()
	servertest.NotShort(t)
	if url := os.Getenv("AUTHSVC_TEST_REDIS_URL"); url != "" {
		return url // it must work
	}
	c, err := net.DialTimeout("tcp", "127.0.0.1:6379", time.Minute)
	if err != nil {
		t.Skip("no Redis: AUTHSVC_TEST_REDIS_URL is not set, and nothing answers on 127.0.0.1:6379")
	}
	c.Close()
	return "redis://127.0.0.1:6379"
}

// A suite is the adapter under test; it can open the same store again.
type suite struct {
	adapter.Adapter
	reopen func(t *testing.T) adapter.Adapter
}

func (s suite) Unwrap() adapter.Adapter { return s.Adapter }

func (s suite) Reopen(t *testing.T) adapter.Adapter { return s.reopen(t) }

func redisOnly(url string) func(*testing.T) adapter.Adapter {
	return func(t *testing.T) adapter.Adapter {
		prefix := newPrefix()
		reopen := func(t *testing.T) adapter.Adapter { return open(t, url, prefix) }
		return suite{reopen(t), reopen}
	}
}

func besideMemory(url string) func(*testing.T) adapter.Adapter {
	return func(t *testing.T) adapter.Adapter {
		prefix, main := newPrefix(), memory.New()
		reopen := func(t *testing.T) adapter.Adapter { return Beside(main, open(t, url, prefix)) }
		return suite{reopen(t), reopen}
	}
}

// A process is a Redis server owned by the test, which may break it.
type process struct {
	t    *testing.T
	port string
	dir  string
	args []string
	cmd  *exec.Cmd
	mu   sync.Mutex
}

// start starts a server, or skips the test if no server program is installed.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	p := &process{t: t, port: port, dir: t.TempDir(), args: args}
	p.run()
	t.Cleanup(p.kill)
	p.await()
	return p
}

func (p *process) run() {
	p.t.Helper()
	servertest.NotShort(p.t)
	program, err := exec.LookPath("redis-server")
	if err != nil {
		program, err = exec.LookPath("valkey-server")
	}
	if err != nil {
		p.t.Skip("neither redis-server nor valkey-server is installed")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = exec.Command(program, append([]string{"--port", p.port, "--bind", "127.0.0.1", "--dir", p.dir, "--save", "",
		"--logfile", filepath.Join(p.dir, "log")}, p.args...)...)
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the process as a crash would.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) addr() string { return "127.0.0.1:" + p.port }
func (p *process) url() string  { return "redis://" + p.addr() }

// await waits until the server answers, even if it only asks for a password.
func (p *process) await() {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		c := goredis.NewClient(&goredis.Options{Addr: p.addr()})
		answer, err := c.Ping(p.t.Context()).Result()
		c.Close()
		if answer == "PONG" || goredis.IsAuthError(err) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(p.dir, "log"))
	p.t.Fatalf("the server does not answer:\n%s", log)
}

// admin runs a command on the server and returns its answer.
func (p *process) admin(words ...any) string {
	p.t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: p.addr()})
	defer c.Close()
	answer, err := c.Do(p.t.Context(), words...).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	return fmt.Sprint(answer)
}

// endSessionsOf returns a revocation of all sessions of a user.
func endSessionsOf(userID string) *adapter.Revocation {
	now := time.Now()
	return &adapter.Revocation{Key: "user:" + userID, UserID: userID, NotBefore: now, Expires: now.Add(time.Hour)}
}
