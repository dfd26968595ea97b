package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// gatePath is the path at which a proxy asks whether a request may pass.
const gatePath = "/api/auth/gate/forward-auth"

// gateCases compare four pairs: the gate and a bare handler that sets the same
// headers and does the same decryption or query; a gate of 500 hosts with 50 rules
// each and one of one host with one rule; nginx that asks the gate and nginx that
// asks the bare handler; and requests passed on by the gate and by a bare
// ReverseProxy.
func gateCases() []benchCase {
	return []benchCase{
		{name: "gate, jwt", path: gatePath, floor: "gate-jwe", operations: 12_000, promise: promise{floor: 1.6}, prepare: prepareGate},
		{name: "gate, SQLite", store: onSQLite, path: gatePath, floor: "gate-sqlite", operations: 8000, promise: promise{floor: 1.6}, prepare: prepareGate},
		{name: "gate, PostgreSQL on the same core", store: onPostgres, path: gatePath, floor: "gate-postgres", operations: 4000, promise: promise{floor: 1.8}, prepare: prepareGate},
		{name: "gate of 500 hosts with 50 rules", path: gatePath, operations: 12_000, promise: promise{floor: 1.25}, prepare: prepareManyHosts},
		{name: "gate through nginx, jwt", path: gatePath, floor: "gate-jwe", prepare: prepareNginx},
		{name: "upstream of 1 KB, jwt", path: "/page", operations: 5000, promise: promise{floor: 1.6}, prepare: prepareUpstream},
	}
}

// gateConfig configures a gate with some hosts, and one rule for each of some
// folders. {addr} is the service's address.
func gateConfig(session string, hosts, rules int, upstream string) string {
	var b strings.Builder
	b.WriteString(session + "trusted_proxies: [127.0.0.1]\ngate:\n  hosts:\n")
	for i := range hosts {
		origin := "http://{addr}"
		if i > 0 {
			origin = fmt.Sprintf("http://127.0.0.1:%d", 100+i) // nothing listens there
		}
		fmt.Fprintf(&b, "  - {origin: %q, rules: [", origin)
		for k := range rules {
			fmt.Fprintf(&b, "{match: /folder%02d/, allow: signed_in}, ", k)
		}
		b.WriteString("]")
		if upstream != "" {
			fmt.Fprintf(&b, ", upstream: %q", upstream)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// gateLoad returns the load of a proxy's checks for users with these cookies, about a
// page in the first folder.
func (b *bench) gateLoad(cookies []string) func(host string) load {
	return func(host string) load {
		l := load{path: gatePath, conns: b.conns, dir: b.dir}
		for _, cookie := range cookies {
			l.headers = append(l.headers, strings.Join([]string{"Cookie: " + cookie, "X-Forwarded-Method: GET", "X-Forwarded-Host: " + host, "X-Forwarded-Uri: /folder00/page"}, "\r\n"))
		}
		return l
	}
}

// runsAt loads the service and the floor with checks about the service's host, once
// both answer alike.
func runsAt(at func(host string) load) func(service, floor *server) ([2]loader, error) {
	return func(service, floor *server) ([2]loader, error) {
		one, two := at(service.addr), at(floor.addr)
		return [2]loader{one, two}, sameHeaders(service, floor, one.headers[0], two.headers[0])
	}
}

func prepareGate(b *bench, c benchCase, s *store) (*prepared, error) {
	config, l, err := b.sessionLoad(c, s)
	if err != nil {
		return nil, err
	}
	return &prepared{config: gateConfig(config, 1, 1, ""), runs: runsAt(b.gateLoad(l.cookies))}, nil
}

func prepareManyHosts(b *bench, c benchCase, s *store) (*prepared, error) {
	config, l, err := b.sessionLoad(c, s)
	if err != nil {
		return nil, err
	}
	return &prepared{config: gateConfig(config, 500, 50, ""), runs: runsAt(b.gateLoad(l.cookies)),
		floor: func(ctx context.Context) (*server, error) { return b.serve(ctx, gateConfig(config, 1, 1, "")) }}, nil
}

// prepareNginx has nginx serve a page of 1 KB with the service's permission, then
// with the floor's. Both times include nginx.
func prepareNginx(b *bench, c benchCase, s *store) (*prepared, error) {
	if _, err := exec.LookPath("nginx"); err != nil {
		return nil, errLeftOut("nginx is missing: apt-get install nginx-light")
	}
	config, l, err := b.sessionLoad(c, s)
	if err != nil {
		return nil, err
	}
	l.path = "/page"
	guarded := func(ctx context.Context, start func(context.Context) (*server, error)) (*server, error) {
		who, err := start(ctx)
		if err != nil {
			return nil, err
		}
		front, err := b.nginx(ctx, who)
		if err != nil {
			who.stop()
		}
		return front, err
	}
	return &prepared{
		service: func(ctx context.Context) (*server, error) {
			return guarded(ctx, func(ctx context.Context) (*server, error) { return b.serve(ctx, gateConfig(config, 1, 1, "")) })
		},
		floor: func(ctx context.Context) (*server, error) {
			return guarded(ctx, func(ctx context.Context) (*server, error) { return b.serveFloor(ctx, c.floor, gatePath, s.location) })
		},
		runs: func(service, floor *server) ([2]loader, error) {
			return [2]loader{l, l}, sameAnswer(service, floor, l.path, l.cookies[0])
		}}, nil
}

const nginxConfig = `daemon off;
master_process off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx.log crit;
events { worker_connections 1024; }
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	upstream who { server %[3]s; keepalive 32; }
	server {
		listen %[2]s;
		root %[1]s;
		location = /ready { auth_request off; return 200 "ready"; }
		location = /page { auth_request /_gate; try_files /page.html =404; }
		location = /_gate {
			internal;
			proxy_pass http://who` + gatePath + `;
			proxy_pass_request_body off;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header Content-Length "";
			proxy_set_header X-Forwarded-Method $request_method;
			proxy_set_header X-Forwarded-Host %[3]s;
			proxy_set_header X-Forwarded-Uri $request_uri;
		}
	}
}
`

// nginx starts nginx in front of a page of 1 KB. who decides which requests may pass.
func (b *bench) nginx(ctx context.Context, who *server) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "nginx")
	if err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"page.html": strings.Repeat("0123456789abcdef", 64), "nginx.conf": fmt.Sprintf(nginxConfig, dir, addr, who.addr)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(b.dir, 0o711); err != nil { // #nosec G302 -- nginx may have another user
		return nil, err
	}
	front, err := startServer(ctx, dir, addr, "/ready", "nginx", "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-g", "user root;")
	if err != nil {
		return nil, err
	}
	front.behind = who
	return front, nil
}

// prepareUpstream has the service and a bare ReverseProxy pass on a page of 1 KB. The
// program that serves the page runs on the same core, and its time counts.
func prepareUpstream(b *bench, c benchCase, s *store) (*prepared, error) {
	config, l, err := b.sessionLoad(c, s)
	if err != nil {
		return nil, err
	}
	l.path = c.path
	before := func(ctx context.Context, start func(program *server) (*server, error)) (*server, error) {
		program, err := b.serveFloor(ctx, "page", c.path, "-")
		if err != nil {
			return nil, err
		}
		front, err := start(program)
		if err != nil {
			program.stop()
			return nil, err
		}
		front.behind = program
		return front, nil
	}
	return &prepared{
		service: func(ctx context.Context) (*server, error) {
			return before(ctx, func(program *server) (*server, error) {
				return b.serve(ctx, gateConfig(config, 1, 1, "http://"+program.addr))
			})
		},
		floor: func(ctx context.Context) (*server, error) {
			return before(ctx, func(program *server) (*server, error) {
				return b.serveFloor(ctx, "proxy", c.path, "http://"+program.addr)
			})
		},
		runs: func(service, floor *server) ([2]loader, error) {
			return [2]loader{l, l}, sameAnswer(service, floor, c.path, l.cookies[0])
		}}, nil
}

// sameHeaders checks that the service and the floor send a proxy the same headers.
func sameHeaders(service, floor *server, one, two string) error {
	got, err := service.headers(one)
	if err != nil {
		return err
	}
	want, err := floor.headers(two)
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) || len(got) < 6 {
		return fmt.Errorf("the service answers %q, the floor %q", got, want)
	}
	return nil
}

// headers returns the headers of the answer to one request, without its time.
func (s *server) headers(lines string) (list []string, err error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+s.addr+gatePath, nil)
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(lines, "\r\n") {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, errors.New(res.Status)
	}
	for name, values := range res.Header {
		if name != "Date" {
			list = append(list, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(list)
	return list, nil
}
