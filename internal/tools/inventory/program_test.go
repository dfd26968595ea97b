package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"authsvc/internal/tools/target"
)

// TestProgramsLicences compares the modules of this tree with the allowed licences,
// and their number with docs/supply-chain.md. CI compares the file of licences.
func TestProgramsLicences(t *testing.T) {
	t.Chdir("../../..")
	modules, err := linked(t.Context(), target.All...)
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) < 30 {
		t.Errorf("%d modules", len(modules))
	}
	var counted strings.Builder
	if err := count(&counted, modules); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/supply-chain.md")
	if err != nil {
		t.Fatal(err)
	}
	sentence := regexp.MustCompile(`(\d+) that we import, (\d+) that those bring`)
	said := sentence.ReplaceAllString(sentence.FindString(string(page)), "modules in the program: $1 direct, $2 indirect\n")
	if said != counted.String() {
		t.Errorf("docs/supply-chain.md says %q, the count is %q", said, counted.String())
	}
	files := map[string]bool{}
	for _, m := range modules {
		for _, l := range m.licences {
			files[m.path+" "+l.file] = true
		}
	}
	for _, want := range []string{"github.com/go-jose/go-jose/v4 json/LICENSE", "github.com/wneessen/go-mail smtp/LICENSE",
		"github.com/klauspost/compress zstd/internal/xxhash/LICENSE.txt", "github.com/redis/go-redis/v9 internal/once.go"} {
		if !files[want] {
			t.Errorf("%s is not listed", want)
		}
	}
}
