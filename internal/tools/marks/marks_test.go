package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	packageJSON = `{"version": "` + packageVersion + `", "license": "CC0-1.0"}`
	square      = `<svg role="img" viewBox="0 0 24 24" xmlns="http://www.w3.org/2000/svg"><title>S</title><path d="M0 0h24v24H0z"/></svg>`
)

func TestOutlines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data, svg, slug string
		problem               string
	}{
		{"plain", `[{"title": "Square & Co.+"}]`, square, "squareandcodotplus", ""},
		{"slug of its own", `[{"title": "Square", "slug": "sq"}]`, square, "sq", ""},
		{"same licence", `[{"title": "Square", "license": {"type": "CC0-1.0"}}]`, square, "square", ""},
		{"other licence", `[{"title": "Square", "license": {"type": "CC-BY-SA-4.0"}}]`, square, "square", "licence that differs from the package: CC-BY-SA-4.0"},
		{"unknown", `[{"title": "Circle"}]`, square, "square", `no icon "square"`},
		{"script", `[{"title": "Square"}]`, strings.Replace(square, "<path", "<script>x</script><path", 1), "square", "must be a single path"},
		{"event handler", `[{"title": "Square"}]`, strings.Replace(square, "<path", `<path onclick="x"`, 1), "square", "must be a single path"},
		{"end of the attribute", `[{"title": "Square"}]`, strings.Replace(square, "H0z", `H0z&quot;`, 1), "square", "must be a single path"},
		{"no drawing", `[{"title": "Square"}]`, strings.Replace(square, "M0 0", "", 1), "square", "must be a single path"},
		{"long", `[{"title": "Square"}]`, strings.Replace(square, "H0z", "H0z"+strings.Repeat("m1 1z", 1000), 1), "square", "the limit is 3000"},
	}
	for _, tt := range tests {
		files := map[string][]byte{"package/package.json": []byte(packageJSON), "package/data/simple-icons.json": []byte(tt.data), "package/icons/" + tt.slug + ".svg": []byte(tt.svg)}
		list, err := outlinesOf(files, []wanted{{"mark", tt.slug}})
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), "mark: ") || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: %v; want %q", tt.name, err, tt.problem)
			}
			continue
		}
		if err != nil || len(list) != 1 || list[0].Path != "M0 0h24v24H0z" {
			t.Errorf("%s: %v, %v", tt.name, list, err)
			continue
		}
		if source, err := generated(list); err != nil || !strings.Contains(string(source), `"mark": "M0 0h24v24H0z"`) {
			t.Errorf("%s: %v, %s", tt.name, err, source)
		}
	}
	for _, other := range []string{`{"version": "1.0.0", "license": "CC0-1.0"}`, `{"version": "` + packageVersion + `", "license": "MIT"}`} {
		files := map[string][]byte{"package/package.json": []byte(other), "package/data/simple-icons.json": []byte("[]")}
		if _, err := outlinesOf(files, nil); err == nil || !strings.Contains(err.Error(), "want "+packageVersion+" under CC0-1.0") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "package/a", Size: 2, Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("hi")); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Close(), z.Close()
	sum := sha512.Sum512(b.Bytes())
	integrity := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	if files, err := unpack(b.Bytes(), integrity); err != nil || string(files["package/a"]) != "hi" {
		t.Errorf("%q, %v", files, err)
	}
	if _, err := unpack(b.Bytes(), packageIntegrity); err == nil || !strings.Contains(err.Error(), integrity) {
		t.Errorf("another package: %v", err)
	}
}

// TestGeneratedFile checks that the file in the tree comes from the pinned package
// and contains exactly the listed logos.
func TestGeneratedFile(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../text/pages/marks_outlines.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{packageIntegrity, packageVersion, packageLicence} {
		if !bytes.Contains(source, []byte(want)) {
			t.Errorf("marks_outlines.go lacks %s: run make marks", want)
		}
	}
	var want, got []string
	for _, m := range marks() {
		want = append(want, m.Name)
	}
	for _, m := range regexp.MustCompile(`(?m)^\t"([^"]+)": +"([^"]*)",$`).FindAllSubmatch(source, -1) {
		got = append(got, string(m[1]))
		if !regexp.MustCompile(`^[Mm][-0-9a-zA-Z., ]+$`).Match(m[2]) {
			t.Errorf("%s is not a path: %s", m[1], m[2])
		}
	}
	slices.Sort(want)
	if !slices.Equal(want, got) {
		t.Errorf("marks_outlines.go has %v;\nwant %v: run make marks", got, want)
	}
}
