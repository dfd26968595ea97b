package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A load describes the requests of one run of wrk: the same path with each cookie in
// turn, over a number of connections.
type load struct {
	path    string
	cookies []string // header values; none: no Cookie header
	headers []string // complete lines, instead of cookies
	conns   int
	dir     string // for wrk's script
}

// A runner loads the server at addr for some time.
type runner func(ctx context.Context, addr string, length time.Duration) (result, error)

// A loader loads the server at addr.
type loader interface {
	run(ctx context.Context, addr string, length time.Duration) (result, error)
	// times sends exactly n requests.
	times(ctx context.Context, addr string, n int) error
}

// A result holds the measurements of one run of the load.
type result struct {
	Rate          float64 // answers a second
	P50, P90, P99 time.Duration
	Max           time.Duration
	Stalled       float64 // share of the time that the load's core stood still; unknown with wrk
}

// run sends requests as fast as answers come, with wrk pinned to loadCore, or without
// wrk.
func (l load) run(ctx context.Context, addr string, length time.Duration) (result, error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return l.constant(ctx, addr, 0, length)
	}
	script := filepath.Join(l.dir, "load.lua")
	if err := os.WriteFile(script, []byte(l.script(addr)), 0o600); err != nil {
		return result{}, err
	}
	cmd := exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(loadCore), "wrk", "-t1", "-c"+strconv.Itoa(l.conns), // #nosec G204 -- numbers and own names
		fmt.Sprintf("-d%ds", int(length.Seconds())), "--latency", "-s", script, "http://"+addr+l.path)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return result{}, fmt.Errorf("wrk: %w: %s", err, out.String())
	}
	return parseWrk(out.String())
}

// requests returns the requests to send in turn.
func (l load) requests(addr string) (list [][]byte) {
	line := "GET " + l.path + " HTTP/1.1\r\nHost: " + addr + "\r\n"
	for _, header := range l.headers {
		list = append(list, []byte(line+header+"\r\n\r\n"))
	}
	if len(l.cookies)+len(l.headers) == 0 {
		return [][]byte{[]byte(line + "\r\n")}
	}
	for _, cookie := range l.cookies {
		list = append(list, []byte(line+"Cookie: "+cookie+"\r\n\r\n"))
	}
	return list
}

// script returns a wrk script that builds every request once, before the run.
func (l load) script(addr string) string {
	var b strings.Builder
	b.WriteString("local requests = {\n")
	for _, request := range l.requests(addr) {
		fmt.Fprintf(&b, "%q,\n", request)
	}
	b.WriteString("}\nlocal i = 0\nrequest = function() i = i % #requests + 1; return requests[i] end\n")
	return b.String()
}

var (
	wrkRate       = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)
	wrkPercentile = regexp.MustCompile(`(50|90|99)%\s+([\d.]+(?:us|ms|s|m))`)
	wrkLatency    = regexp.MustCompile(`Latency\s+\S+\s+\S+\s+([\d.]+(?:us|ms|s|m))`)
	wrkFailed     = regexp.MustCompile(`Non-2xx or 3xx responses: \d+|Socket errors: .*`)
)

func parseWrk(text string) (r result, err error) {
	if failed := wrkFailed.FindString(text); failed != "" {
		return r, errors.New("wrk: " + failed)
	}
	rate := wrkRate.FindStringSubmatch(text)
	if rate == nil {
		return r, errors.New("wrk: no rate in " + text)
	}
	if r.Rate, err = strconv.ParseFloat(rate[1], 64); err != nil {
		return r, err
	}
	for _, m := range wrkPercentile.FindAllStringSubmatch(text, -1) {
		d, err := time.ParseDuration(m[2])
		if err != nil {
			return r, err
		}
		switch m[1] {
		case "50":
			r.P50 = d
		case "90":
			r.P90 = d
		case "99":
			r.P99 = d
		}
	}
	if m := wrkLatency.FindStringSubmatch(text); m != nil {
		r.Max, err = time.ParseDuration(m[1])
	}
	return r, err
}
