package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A bench is one run of the program.
type bench struct {
	options
	dir       string // removed at the end
	binary    string // authsvc
	before    string // authsvc at an older commit, with -check
	floor     string // the floors
	module    string // directory of this program's module
	files     string // directory of SQLite databases
	now       time.Time
	databases int // number created so far
	results   results
}

// measureAll takes the measurements that the options request.
func measureAll(ctx context.Context, o options) (*results, error) {
	if err := pinSelf(); err != nil {
		return nil, err
	}
	b := &bench{options: o, now: time.Now()}
	var err error
	if b.dir, err = os.MkdirTemp("", "authsvc-bench"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(b.dir)
	b.files = b.dir
	if o.check { // in memory: the disk must not take part
		if dir, err := os.MkdirTemp("/dev/shm", "authsvc-bench"); err == nil {
			defer os.RemoveAll(dir)
			b.files = dir
		}
	}
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("wrk"); err != nil {
		fmt.Println("wrk is missing (apt-get install wrk): this program generates the load itself, at other rates than wrk")
	}
	if o.check {
		return &b.results, b.checkAll(ctx)
	}
	some := o.growth || o.latency || o.peers
	for _, part := range []struct {
		wanted  bool
		measure func(context.Context) error
	}{
		{o.all || !some, b.measureComparisons},
		{o.all || o.latency, b.measureLatency},
		{o.all || o.growth, b.measureGrowth},
		{o.all || o.growth, b.measureSpace},
		{o.all || o.peers, b.measurePeers},
	} {
		if !part.wanted {
			continue
		}
		if err := part.measure(ctx); err != nil {
			return nil, err
		}
	}
	return &b.results, nil
}

// leftOut records a part that cannot be measured here, and returns any other error.
func (b *bench) leftOut(name string, err error) error {
	var missing errLeftOut
	if !errors.As(err, &missing) {
		return err
	}
	fmt.Printf("%s: left out: %v\n", name, err)
	// The results are published: keep one line, and no path of this machine.
	why, _, _ := strings.Cut(err.Error(), "\n")
	if b.module != "" {
		why = strings.ReplaceAll(why, b.module, "bench")
	}
	b.results.LeftOut = append(b.results.LeftOut, name+": left out: "+why)
	return nil
}

// sizes holds the sizes of the binaries in MiB.
type sizes struct{ Service, Floor float64 }

// build builds the service as for a release, and the floors.
func (b *bench) build(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Module.Dir}}", "authsvc/engine", "authsvc/bench").Output()
	dirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(dirs) != 2 {
		return errors.New("run it in the directory bench of the repository, as make bench does")
	}
	b.module = dirs[1]
	b.binary, b.floor = filepath.Join(b.dir, "authsvc"), filepath.Join(b.dir, "floor")
	if err := goBuild(ctx, dirs[0], b.binary, "./cmd/authsvc"); err != nil {
		return err
	}
	if err := goBuild(ctx, dirs[1], b.floor, "./floor"); err != nil {
		return err
	}
	if b.check {
		if err := b.buildBefore(ctx, dirs[0]); err != nil {
			return err
		}
	}
	b.results.Sizes = sizes{fileSize(b.binary), fileSize(b.floor)}
	b.results.Machine = thisMachine(ctx, dirs[0])
	b.results.Machine.Rounds, b.results.Machine.Length = b.rounds, b.length
	fmt.Printf("authsvc has %.1f MiB, the program with all floors %.1f MiB: ratio %.2f\n",
		b.results.Sizes.Service, b.results.Sizes.Floor, b.results.Sizes.Service/b.results.Sizes.Floor)
	return nil
}

// goBuild builds a program as for a release.
func goBuild(ctx context.Context, dir, binary, path string) error {
	argv := onAllCores("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, path)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- own names
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", path, err)
	}
	return nil
}

func fileSize(name string) float64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return float64(info.Size()) / (1 << 20)
}

// serve starts the service with a configuration added to the common one.
func (b *bench) serve(ctx context.Context, config string) (*server, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	return b.serveAt(ctx, addr, config)
}

func (b *bench) serveAt(ctx context.Context, addr, config string) (*server, error) {
	_, port, _ := strings.Cut(addr, ":")
	file := filepath.Join(b.dir, "authsvc-"+port+".yaml")
	if err := os.WriteFile(file, []byte(baseConfig(addr, config)), 0o600); err != nil {
		return nil, err
	}
	return startServer(ctx, b.dir, addr, "/api/auth/csrf", b.binary, "serve", "-c", file)
}

// serveFloor starts a floor.
func (b *bench) serveFloor(ctx context.Context, name, ready, location string) (*server, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, b.dir, addr, ready, b.floor, name, addr, location)
}

// freeAddress returns an address that is currently free.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// baseConfig returns the settings common to all configurations.
func baseConfig(addr, more string) string {
	more = strings.ReplaceAll(more, "{addr}", addr)
	text := "url: http://" + addr + "\nlisten: " + addr + "\nsecret: " + secret + "\nrate_limit: {enabled: false}\n" + more
	if !strings.Contains(more, "providers:") {
		text += "providers: [{id: github, client_id: a, client_secret: b}]\n"
	}
	return text
}

// warmUp is the length of the load before a measurement.
const warmUp = time.Second
