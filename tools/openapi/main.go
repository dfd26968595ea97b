// Command openapi compares docs/openapi.yaml with recorded exchanges in both
// directions: it reports answers that the document does not describe, and described
// answers that no exchange covers. `make openapi` records and runs it.
//
// It is a separate module so that only people who run it need its modules.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"authsvc/internal/protocol/openapi"
)

func main() {
	path := flag.String("document", "../../docs/openapi.yaml", "the document")
	partial := flag.Bool("partial", false, "do not report what no exchange shows")
	flag.Parse()
	mistakes, summary, err := run(*path, flag.Args(), *partial)
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(2)
	}
	for _, m := range mistakes {
		fmt.Println(m)
	}
	fmt.Println(summary)
	if len(mistakes) > 0 {
		os.Exit(1)
	}
}

// modes are the values of compat.
var modes = []string{"none", "next-auth-v4", "authjs-v5"}

// An exchange is an exchange recorded by authsvc/internal/test/exchange.
type exchange struct {
	From, Mode, Method, URL string
	RequestHeader           http.Header
	RequestBody             []byte
	Status                  int
	Header                  http.Header
	Body                    []byte
}

// run compares the document with the exchanges in some folders.
func run(path string, folders []string, partial bool) (mistakes []string, summary string, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	all, err := read(folders)
	if err != nil {
		return nil, "", err
	}
	found := map[string]bool{}
	seen := newSeen()
	answers := 0
	for _, mode := range modes {
		fitted, err := openapi.Fit(raw, openapi.Options{Mode: mode})
		if err != nil {
			return nil, "", err
		}
		d, err := newDocument(fitted, mode)
		if err != nil {
			return nil, "", fmt.Errorf("compat %s: %w", mode, err)
		}
		for _, e := range all {
			if e.Mode == mode {
				for _, m := range d.judge(e, seen) {
					found[fmt.Sprintf("compat %s: %s %s (%s): %s", mode, e.Method, strings.SplitN(e.URL, "?", 2)[0], e.From, m)] = true
				}
			}
		}
		unseen, n := d.unseen(seen)
		answers += n
		for _, m := range unseen {
			found[fmt.Sprintf("compat %s: no exchange shows %s", mode, m)] = !partial
		}
	}
	for m := range seen.described {
		if !seen.shown[m] {
			found["no exchange shows "+m] = !partial
		}
	}
	for m, is := range found {
		if is {
			mistakes = append(mistakes, m)
		}
	}
	slices.Sort(mistakes)
	return mistakes, fmt.Sprintf("%d exchanges, %d answers described in %d modes, %d mistakes", len(all), answers, len(modes), len(mistakes)), nil
}

// read returns the exchanges in the files of some folders.
func read(folders []string) (all []exchange, err error) {
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			lines := bufio.NewScanner(bytes.NewReader(raw))
			lines.Buffer(nil, 16<<20)
			for lines.Scan() {
				var e exchange
				if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
					return nil, fmt.Errorf("%s: %w", file, err)
				}
				all = append(all, e)
			}
			if err := lines.Err(); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no exchanges in %q", folders)
	}
	return all, nil
}
