package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"M0 0L10 10":                             "m0 0l10 10",
		"m1.04 1.06 2 2":                         "m1 1.1l2 2",
		"M.52.48h1v-1z":                          "m.5.5h1v-1z",
		"M1 1.04l0 .04 0 .04 0 .04":              "m1 1l0 .1l0 0l0 .1", // not three times nothing
		"M2 2a1 1 0 01.5.5":                      "m2 2a1 1 0 01.5.5",
		"M2 2a1 1 0 1 0-.5-.5 1 1 0 00.5.5":      "m2 2a1 1 0 10-.5-.5 1 1 0 00.5.5",
		"M0 0c1e0 1,2 2 3 3s1 1 2 2q1 1 2 2t1 1": "m0 0c1 1 2 2 3 3s1 1 2 2q1 1 2 2t1 1",
		"M1 1h2zm3 3l1 1":                        "m1 1h2zm3 3l1 1",
	}
	for in, text := range tests {
		got, err := shorten(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		equalPoints(t, in, got)
		equalPoints(t, text, got)
		if len(got) > len(in) {
			t.Errorf("%s became %s", in, got)
		}
	}
	for _, in := range []string{"", "L1 1", "M1", "M1 1 2", "M0 0a1 1 0 2 0 1 1", "M0 0zx", "M0 0z1 1", "M1 1e"} {
		if got, err := shorten(in); err == nil {
			t.Errorf("%q became %q; want an error", in, got)
		}
	}
}

// equalPoints compares drawings point by point: each may be half a step off,
// wherever in the drawing it is.
func equalPoints(t *testing.T, a, b string) {
	t.Helper()
	left, err := parsePath(a)
	if err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	right, err := parsePath(b)
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	same := slices.EqualFunc(left, right, func(x, y segment) bool {
		return x.command == y.command && slices.EqualFunc(x.args, y.args, func(f, g float64) bool { return math.Abs(f-g) <= 0.5/grid+1e-9 })
	})
	if !same {
		t.Errorf("%s is drawn as %s", a, b)
	}
}

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
		{"other licence", `[{"title": "Square", "license": {"type": "CC-BY-SA-4.0"}}]`, square, "square", "licence of its own: CC-BY-SA-4.0"},
		{"unknown", `[{"title": "Circle"}]`, square, "square", `no icon "square"`},
		{"script", `[{"title": "Square"}]`, strings.Replace(square, "<path", "<script>x</script><path", 1), "square", "not one path"},
		{"event handler", `[{"title": "Square"}]`, strings.Replace(square, "<path", `<path onclick="x"`, 1), "square", "not one path"},
		{"end of the attribute", `[{"title": "Square"}]`, strings.Replace(square, "H0z", `H0z&quot;`, 1), "square", "not one path"},
		{"no drawing", `[{"title": "Square"}]`, strings.Replace(square, "M0 0", "", 1), "square", "does not begin with a move"},
		{"long", `[{"title": "Square"}]`, strings.Replace(square, "H0z", "H0z"+strings.Repeat("m1 1z", 1000), 1), "square", "at most"},
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
		if err != nil || len(list) != 1 || list[0].Path != "m0 0h24v24h-24z" {
			t.Errorf("%s: %v, %v", tt.name, list, err)
			continue
		}
		if source, err := generated(list); err != nil || !strings.Contains(string(source), `"mark": "m0 0h24v24h-24z"`) {
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

// TestGeneratedFile: the file in the tree is of the pinned package, and has
// just the marks of the list.
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
		if _, err := parsePath(string(m[2])); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
	slices.Sort(want)
	if !slices.Equal(want, got) {
		t.Errorf("marks_outlines.go has %v;\nwant %v: run make marks", got, want)
	}
}
