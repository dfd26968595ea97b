package main

import (
	"runtime/debug"
	"testing"
)

const (
	mitText = "Permission is hereby granted, free\n of charge, to any person … The above copyright notice and this permission notice shall be included"
	bsdText = "Redistribution and use in source and binary forms, with or without modification"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, text, want string
		ok                     bool
	}{
		{"MIT", "LICENSE", mitText, "MIT", true},
		{"two clauses", "LICENSE", bsdText, "BSD-2-Clause", true},
		{"three clauses", "LICENSE", bsdText + " endorse or promote products", "BSD-3-Clause", true},
		{"two licences in a file", "LICENSE", bsdText + mitText, "BSD-2-Clause AND MIT", true},
		{"a notice", "NOTICE", "anything", "", true},
		{"unknown", "LICENSE", "all rights reserved", "", false},
		{"GPL", "COPYING", "GNU General\nPublic License version 3", "", false},
		{"GPL beside MIT", "LICENSE", mitText + " GNU Affero General Public License", "", false},
		{"for no business", "LICENSE", mitText + " with the Commons Clause", "", false},
		{"MPL, which names the GPL", "LICENSE", "Mozilla Public License Version 2.0 … GNU General Public License", "MPL-2.0", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := classify(tt.file, tt.text)
			if got != tt.want || (err == nil) != tt.ok {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	tree := []module{{path: "example.com/a", version: "v1.0.0", licences: []licence{{id: "MIT"}}}}
	for _, tt := range []struct {
		name string
		deps []*debug.Module
		ok   bool
	}{
		{"the same", []*debug.Module{{Path: "example.com/a", Version: "v1.0.0"}}, true},
		{"another version", []*debug.Module{{Path: "example.com/a", Version: "v1.0.1"}}, false},
		{"one more", []*debug.Module{{Path: "example.com/a", Version: "v1.0.0"}, {Path: "example.com/b"}}, false},
		{"one less", nil, false},
		{"replaced", []*debug.Module{{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{}}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := compare(&debug.BuildInfo{GoVersion: "go1.27.2", Deps: tt.deps}, tree); (err == nil) != tt.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestNotice checks that a file's own notice is listed once, and refused if it
// requires more than a notice.
func TestNotice(t *testing.T) {
	t.Parallel()
	own := licence{file: "LICENSE", id: "MIT", text: "Copyright (c) 2020 Ada\n" + mitText}
	for name, c := range map[string]struct {
		text string
		want int // number of licences afterwards
		ok   bool
	}{
		"its holder is known":        {"Copyright (c) 2020 Ada", 1, true},
		"another holder":             {"Copyright 2013 Grace", 2, true},
		"points to the licence file": {"Copyright 2013 Grace. Governed by a BSD-style\nlicense that can be found in the LICENSE file.", 1, true},
		"terms of its own":           {"Copyright 2013 Grace\n" + bsdText, 2, true},
		"terms of the GPL":           {"Copyright 2013 Grace\nGNU General Public License", 1, false},
		"a header of GCC":            {"Copyright 2013 Grace\nGNU General Public License\nyou are granted additional permissions described in the GCC Runtime\nLibrary Exception, version 3.1", 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := module{licences: []licence{own}}
			for range 2 {
				if err := m.notice("a/b.go", c.text); (err == nil) != c.ok {
					t.Errorf("got %v", err)
				}
			}
			if len(m.licences) != c.want {
				t.Errorf("%d licences", len(m.licences))
			}
		})
	}
}
