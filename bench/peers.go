package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"authsvc/internal/test/npm"
)

// A peer is another program that checks a session over HTTP. It replaces the floor in
// a comparison with authsvc on a store of the same kind.
type peer struct {
	comparison
	Asks string // the request it answers
}

// A peerCase starts a peer.
type peerCase struct {
	name  string
	store string // kind of store; "" for none
	asks  string
	ready string // a path
	start func(ctx context.Context, b *bench, addr string) (*runningPeer, error)
}

// A runningPeer describes how to run a prepared peer.
type runningPeer struct {
	argv  []string
	load  func(addr string) (path string, headers []string, err error) // called once it serves
	pins  func() []int
	close func()
}

func peerCases() []peerCase {
	return []peerCase{
		{name: "next-auth 4, jwt", asks: "GET /api/auth/session", ready: csrfPath, start: startNextAuth("jwt")},
		{name: "next-auth 4, SQLite", store: onSQLite, asks: "GET /api/auth/session", ready: csrfPath, start: startNextAuth("database")},
		{name: "PocketBase, SQLite", store: onSQLite, asks: "GET of one's own user record", ready: "/api/health", start: startPocketBase},
		{name: "Ory Kratos, PostgreSQL", store: onPostgres, asks: "GET /sessions/whoami", ready: "/health/ready", start: startKratos},
	}
}

func (b *bench) measurePeers(ctx context.Context) error {
	for _, c := range peerCases() {
		if !b.only.MatchString(c.name) {
			continue
		}
		one, err := b.peer(ctx, c)
		if err != nil {
			if err = b.leftOut(c.name, err); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			continue
		}
		one.print(os.Stdout)
		b.results.Peers = append(b.results.Peers, one)
	}
	return nil
}

// peer measures authsvc and a peer in turn.
func (b *bench) peer(ctx context.Context, c peerCase) (*peer, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	running, err := c.start(ctx, b, addr)
	if err != nil {
		return nil, err
	}
	if running.close != nil {
		defer running.close()
	}
	one := &peer{comparison: comparison{Name: c.name, Store: c.store}, Asks: c.asks}
	other, err := startServer(ctx, b.dir, addr, c.ready, running.argv...)
	if err != nil {
		return nil, err
	}
	defer other.stop()
	s := &store{}
	if c.store != "" {
		if s, err = b.openStore(ctx, c.store, people, 0); err != nil {
			return nil, err
		}
		defer s.close()
	}
	config, ours, err := b.sessionLoad(benchCase{store: c.store}, s)
	if err != nil {
		return nil, err
	}
	service, err := b.serve(ctx, config)
	if err != nil {
		return nil, err
	}
	defer service.stop()
	theirs := load{conns: b.conns, dir: b.dir}
	if theirs.path, theirs.headers, err = running.load(addr); err != nil {
		return nil, err
	}
	runs := [2]loader{ours, theirs}
	for i, server := range []*server{service, other} {
		one.Starts[i] = []time.Duration{server.start.Clock}
		one.Idle[i], one.IdleAnon[i] = server.memory()
		if _, err := runs[i].run(ctx, server.addr, warmUp); err != nil {
			return nil, err
		}
	}
	service.pins, other.pins = s.pins, running.pins
	return one, one.rounds(ctx, b, [2]*server{service, other}, runs)
}

func (p *peer) print(w *os.File) {
	ratio, low, high := p.Ratio()
	fmt.Fprintf(w, "\n%s, %s: authsvc answers %.1f times as many (%.1f to %.1f)\n", p.Name, p.Asks, ratio, low, high)
	for i, s := range [][]sample{p.Service, p.Floor} {
		fmt.Fprintf(w, "  %-10s %8.0f/s  p50 %8s  p99 %8s  CPU %7.1f µs  %4.0f → %4.0f MiB  start %s\n", []string{"authsvc", "the other"}[i],
			medianOf(s, func(s sample) float64 { return s.Rate }),
			round(medianOf(s, func(s sample) time.Duration { return s.P50 })),
			round(medianOf(s, func(s sample) time.Duration { return s.P99 })),
			medianOf(s, func(s sample) float64 { return s.CPU }),
			p.Idle[i], medianOf(s, func(s sample) float64 { return s.RSS }), round(median(p.Starts[i])))
	}
}

// startNextAuth runs next-auth 4 behind Node's own server.
func startNextAuth(strategy string) func(context.Context, *bench, string) (*runningPeer, error) {
	return func(_ context.Context, b *bench, addr string) (*runningPeer, error) {
		for _, program := range []string{"node", "npm"} {
			if _, err := exec.LookPath(program); err != nil {
				return nil, errLeftOut(program + " is missing")
			}
		}
		dir := filepath.Join(b.module, "peers", "nextauth")
		if err := npm.Install(dir); err != nil {
			return nil, errLeftOut(err.Error())
		}
		file := filepath.Join(b.dir, "nextauth-"+addr[strings.Index(addr, ":")+1:]+".db")
		return &runningPeer{
			argv: []string{"node", filepath.Join(dir, "server.mjs"), addr, strategy, secret, file, strconv.Itoa(people)},
			load: func(addr string) (_ string, headers []string, err error) {
				csrf, err := csrfCookies(&server{addr: addr})
				if err != nil {
					return "", nil, err
				}
				cookies, err := jweCookies(nil)
				if strategy == "database" {
					cookies = nil
					for i := range people {
						cookies = append(cookies, fmt.Sprintf("%s=session-%d", jweCookie, i))
					}
				}
				for _, cookie := range cookies {
					headers = append(headers, "Cookie: "+cookie+"; "+csrf[0])
				}
				return sessionPath, headers, err
			},
		}, nil
	}
}

// buildPeer builds a Go program from a separate module.
func buildPeer(ctx context.Context, dir, binary string) error {
	argv := onAllCores("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- own names
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	if out, err := cmd.CombinedOutput(); err != nil {
		return errLeftOut(fmt.Sprintf("cannot build it: %v: %.300s", err, out))
	}
	return nil
}

// startPocketBase runs PocketBase with its default users collection.
func startPocketBase(ctx context.Context, b *bench, addr string) (*runningPeer, error) {
	binary := filepath.Join(b.dir, "pocketbase")
	if err := buildPeer(ctx, filepath.Join(b.module, "peers", "pocketbase"), binary); err != nil {
		return nil, err
	}
	const users = "/api/collections/users"
	running := &runningPeer{
		// PocketBase takes a program in a temporary directory for a development
		// build.
		argv: []string{binary, "serve", "--dev=false", "--http", addr, "--dir", filepath.Join(b.dir, "pocketbase-data")},
	}
	running.load = func(addr string) (string, []string, error) {
		const person = `{"email":"person@mail.example","identity":"person@mail.example","password":"a good password","passwordConfirm":"a good password","name":"Person"}`
		record, err := postJSON("http://"+addr+users+"/records", person)
		if err != nil {
			return "", nil, err
		}
		answer, err := postJSON("http://"+addr+users+"/auth-with-password", person)
		return users + "/records/" + record.ID, []string{"Authorization: " + answer.Token}, err
	}
	return running, nil
}

// kratosModule is built in the module cache: it replaces modules with directories of
// its own.
const kratosModule = "github.com/ory/kratos@v1.3.1"

func startKratos(ctx context.Context, b *bench, addr string) (*runningPeer, error) {
	s := &store{}
	if err := b.openPostgres(ctx, s); err != nil {
		return nil, err
	}
	argv, err := b.prepareKratos(ctx, addr, s.url)
	if err != nil {
		s.close()
		return nil, err
	}
	return &runningPeer{argv: argv, load: kratosSession, pins: s.pins, close: s.close}, nil
}

// prepareKratos builds Kratos, creates its tables, and returns the command that runs
// it.
func (b *bench) prepareKratos(ctx context.Context, addr, dsn string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", kratosModule).Output()
	var module struct{ Dir string }
	if err = errors.Join(err, json.Unmarshal(out, &module)); err != nil {
		return nil, errLeftOut(kratosModule + " cannot be downloaded")
	}
	binary, config := filepath.Join(b.dir, "kratos"), filepath.Join(b.dir, "kratos.yaml")
	if err := buildPeer(ctx, module.Dir, binary); err != nil {
		return nil, err
	}
	admin, err := freeAddress()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, []byte(kratosConfig(addr, admin, dsn)), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, binary, "migrate", "sql", "--yes", "-c", config, dsn).CombinedOutput(); err != nil { // #nosec G204 -- own names
		return nil, fmt.Errorf("kratos migrate: %w: %.300s", err, out)
	}
	return []string{binary, "serve", "-c", config}, nil
}

const kratosSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"traits":{"type":"object","properties":{` +
	`"email":{"type":"string","format":"email","ory.sh/kratos":{"credentials":{"password":{"identifier":true}}}},"name":{"type":"string"}}}}}`

func kratosConfig(addr, admin, dsn string) string {
	host, port, _ := strings.Cut(addr, ":")
	_, adminPort, _ := strings.Cut(admin, ":")
	return fmt.Sprintf(`dsn: %q
serve:
  public: {base_url: "http://%s/", host: %s, port: %s}
  admin: {host: %s, port: %s}
selfservice:
  default_browser_return_url: "http://%s/"
  methods: {password: {enabled: true, config: {haveibeenpwned_enabled: false}}}
  flows: {registration: {enabled: true, after: {password: {hooks: [{hook: session}]}}}}
identity:
  default_schema_id: default
  schemas: [{id: default, url: "base64://%s"}]
secrets: {cookie: ["%s"], cipher: ["%.32s"]}
log: {level: error}
courier: {smtp: {connection_uri: "smtp://127.0.0.1:1/"}}
`, dsn, addr, host, port, host, adminPort, addr, base64.StdEncoding.EncodeToString([]byte(kratosSchema)), secret, secret)
}

// kratosSession registers a person, who is then signed in.
func kratosSession(addr string) (string, []string, error) {
	res, err := http.Get("http://" + addr + "/self-service/registration/api")
	if err != nil {
		return "", nil, err
	}
	defer res.Body.Close()
	var flow struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&flow); err != nil {
		return "", nil, err
	}
	answer, err := postJSON("http://"+addr+"/self-service/registration?flow="+flow.ID,
		`{"method":"password","password":"a good password, 4711","traits":{"email":"person@mail.example","name":"Person"}}`)
	return "/sessions/whoami", []string{"X-Session-Token: " + answer.SessionToken}, err
}

// A tokenAnswer is a peer's answer to a new user or a sign-in.
type tokenAnswer struct {
	ID           string
	Token        string
	SessionToken string `json:"session_token"`
}

func postJSON(url, body string) (answer tokenAnswer, err error) {
	res, err := http.Post(url, "application/json", bytes.NewBufferString(body))
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return answer, errors.New(url + " answers " + res.Status)
	}
	return answer, json.NewDecoder(res.Body).Decode(&answer)
}

// peerTable has a row for each peer.
func (r *results) peerTable() string {
	if len(r.Peers) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| | asked for | authsvc /s | other /s | times | p99 | other's p99 | MiB after load | other's |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, p := range r.Peers {
		ratio, _, _ := p.Ratio()
		rate := func(s sample) float64 { return s.Rate }
		tail := func(s sample) time.Duration { return s.P99 }
		rss := func(s sample) float64 { return s.RSS }
		fmt.Fprintf(&b, "| %s | %s | %.0f | %.0f | %.1f | %s | %s | %.0f | %.0f |\n", p.Name, p.Asks, medianOf(p.Service, rate), medianOf(p.Floor, rate), ratio,
			round(medianOf(p.Service, tail)), round(medianOf(p.Floor, tail)), medianOf(p.Service, rss), medianOf(p.Floor, rss))
	}
	return b.String()
}
