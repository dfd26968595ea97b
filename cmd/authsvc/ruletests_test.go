package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRulesPage: the configuration of docs/rules.md is valid, and the expectations of
// its table are met.
func TestRulesPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```yaml\n")
	dir := t.TempDir()
	write := func(name, before, block string) string {
		text, _, _ := strings.Cut(block, "```")
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(before+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const base = "url: http://localhost:3000\nsecret: 0123456789abcdef0123456789abcdef\nstorage: {url: \"memory:\"}\nproviders: [{id: github, client_id: gh, client_secret: gh-secret}]\n"
	config := write("authsvc.yaml", base, blocks[1])
	hook := strings.NewReplacer("${HOOK_SECRET}", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz")
	for i, block := range blocks[2 : len(blocks)-1] {
		name := write(fmt.Sprintf("%d.yaml", i), strings.Split(base, "providers:")[0], hook.Replace(block))
		if !strings.Contains(block, "providers:") {
			name = write(fmt.Sprintf("%d.yaml", i), base, hook.Replace(block))
		}
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"check", "--offline", "-c", name}, nil, nil, &out, &errs); code != exitOK {
			t.Errorf("block %d is not a valid configuration: %s%s", i, out.String(), errs.String())
		}
	}
	table := write("tests.yaml", "", blocks[len(blocks)-1])
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"rules", "test", "-c", config, table}, nil, nil, &out, &errs); code != exitOK || out.String() != "4 tests, 0 failed\n" {
		t.Errorf("%d: %s%s", code, out.String(), errs.String())
	}
}
