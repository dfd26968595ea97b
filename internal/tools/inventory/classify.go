package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// marks lists the phrases that identify a licence, and its SPDX id. All phrases of an
// entry must occur. A file may contain several licences.
var marks = []struct {
	id      string
	phrases []string
}{
	{"Apache-2.0", []string{"apache license", "http://www.apache.org/licenses/"}},
	{"MPL-2.0", []string{"mozilla public license version 2.0"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "endorse or promote products"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"MIT", []string{"permission is hereby granted, free of charge", "the above copyright notice and this permission notice"}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{"ISC", []string{"permission to use, copy, modify, and distribute this software for any purpose with or without fee"}},
	{"public domain", []string{"has been dedicated to the public domain by the authors"}},
}

// unread lists files that are not licences of the program: they belong to no part of
// it, or collect licences that the licence file has as well.
var unread = map[string]string{
	"LICENSE-LOGO":         "of a picture that is in no program",
	"LICENSE-3RD-PARTY.md": "a collection; it is printed whole",
}

// forbidden matches names of licences that require more than a notice. A file that
// contains one is not allowed, except the Mozilla Public License 2.0, which mentions
// them.
var forbidden = regexp.MustCompile(`(?i)(gnu (lesser |affero )?general public license|server side public license|business source license|commons clause|creative commons attribution-noncommercial)`)

var space = regexp.MustCompile(`\s+`)

// classify returns the SPDX id of a licence text, or "" for a notice. All licences in
// marks are allowed; any other text is an error.
func classify(name, text string) (id string, err error) {
	upper := strings.ToUpper(name)
	if _, ok := unread[name]; ok || strings.HasPrefix(upper, "NOTICE") {
		return "", nil
	}
	plain := strings.ToLower(space.ReplaceAllString(text, " "))
	if word := forbidden.FindString(plain); word != "" && !strings.Contains(plain, "mozilla public license version 2.0") {
		return "", fmt.Errorf("%s is not allowed: it mentions the %q", name, word)
	}
	var ids []string
	for _, m := range marks {
		if containsAll(plain, m.phrases) && !(m.id == "BSD-2-Clause" && slices.Contains(ids, "BSD-3-Clause")) {
			ids = append(ids, m.id)
		}
	}
	if len(ids) > 0 {
		return strings.Join(ids, " AND "), nil
	}
	return "", fmt.Errorf("%s is not a known licence", name)
}

func containsAll(text string, phrases []string) bool {
	for _, p := range phrases {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
