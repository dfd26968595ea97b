package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// profile writes a CPU profile of a comparison's service under load, in the format of
// go tool pprof, to a file named after the comparison.
func (b *bench) profile(ctx context.Context, name string, p *prepared) error {
	if err := os.MkdirAll(b.profiles, 0o755); err != nil { // #nosec G301 -- figures, public
		return err
	}
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	service, err := b.serve(ctx, p.config+"debug: {listen: \""+addr+"\"}\n")
	if err != nil {
		return err
	}
	defer service.stop()
	runs, err := p.runs(service, service)
	if err != nil {
		return err
	}
	if _, err := runs[0].run(ctx, service.addr, warmUp); err != nil {
		return err
	}
	length := 3 * b.length
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() {
		file := strings.NewReplacer(",", "", " ", "-").Replace(strings.ToLower(name)) + ".pprof"
		failed = download(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, int(length.Seconds())), filepath.Join(b.profiles, file))
	})
	_, err = runs[0].run(ctx, service.addr, length+time.Second)
	wg.Wait()
	if err == nil {
		err = failed
	}
	return err
}

func download(ctx context.Context, url, file string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the profile: %s", res.Status)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644) // #nosec G306 -- figures, public
}
