package config

import "strings"

// secretVar accepts a text that is never quoted.
func secretVar(p *string) setter {
	s := stringVar(p)
	s.kind = "secret"
	return s
}

// secretListVar accepts one secret, a list of secrets, or one secret per line.
func secretListVar(p *[]string) setter {
	items := textItems(p)
	return setter{kind: "secret or list of secrets", fix: "write one value, or a list whose first entry seals", set: func(v value) string {
		*p = nil
		if v.shape != scalar {
			return v.notList()
		}
		for line := range strings.Lines(v.text) { // spaces may be part of a secret
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				*p = append(*p, line)
			}
		}
		return ""
	}, each: func(item value) string {
		if item.ofScalar { // set has split it
			return ""
		}
		return items(item)
	}}
}

// keyListVar is like secretListVar, but refuses an empty text: with a variable that is
// empty by mistake, no key would be configured.
func keyListVar(p *[]string) setter {
	s := secretListVar(p)
	s.fix = "write one value, or a list"
	store := s.set
	s.set = func(v value) string {
		if problem := store(v); problem != "" || v.shape != scalar || len(*p) > 0 {
			return problem
		}
		return "is empty"
	}
	return s
}

// encodingProblem returns what is wrong with the bytes of a secret as Windows writes
// files, in UTF-8 with a mark or in UTF-16, or "". These bytes would count as part of
// the secret, and the same secret written elsewhere would be another one.
func (v value) encodingProblem() string {
	switch {
	case strings.HasPrefix(v.text, "\ufeff"):
		return "begins with a byte order mark"
	case strings.Contains(v.text, "\n\ufeff"): // in a list with one secret per line
		return "has a line that begins with a byte order mark"
	case strings.Contains(v.text, "\ufeff") && v.raw != "" && !strings.Contains(v.raw, "\ufeff"): // within an address
		return "refers to a variable with a byte order mark"
	case strings.HasPrefix(v.text, "\xff\xfe"), strings.HasPrefix(v.text, "\xfe\xff"), strings.Contains(v.text, "\x00"):
		return "is in UTF-16, or binary"
	}
	for _, item := range v.items {
		if problem := item.encodingProblem(); problem != "" {
			return problem
		}
	}
	return ""
}
