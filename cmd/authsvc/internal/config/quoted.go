package config

import "strings"

// quotesFix says what to do about quotes around the value of a variable.
const quotesFix = "remove them: Docker's --env-file, for example, keeps quotes as part of the value"

// nameProblem returns which characters at the ends of a file's name, or within it, got
// into a variable by mistake, and the fix, or "".
func nameProblem(name string) (problem, fix string) {
	if quoted(name) {
		return "has quotes around it", quotesFix
	}
	return value{text: name}.pastedProblem("")
}

// quotedProblem returns the problem with a value that still has the quotes which were
// written around it, and the fix, or "". In a list of secrets, it checks the first entry
// only: a secret that sealed sessions with its quotes stays usable as a later one.
func (f field) quotedProblem(v value) (problem, fix string) {
	first, _, _ := strings.Cut(v.text, "\n")
	if f.secret && len(v.items) > 0 {
		first = v.items[0].text
	}
	if f.literal() || !quoted(v.text) && !(f.secret && quoted(first)) {
		return "", ""
	}
	fix = quotesFix
	if f.key == "secret" {
		fix += "; to keep what they sealed, add the secret with its quotes as a later entry"
	}
	return "has quotes around it", fix
}

// quoted reports whether a text begins and ends with the same straight quote.
func quoted(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0]
}

// literal reports whether quotes around a value may be meant as a part of it, as in a
// text for people, or in an expression.
func (f field) literal() bool {
	switch f.into.kind {
	case "text":
		name := f.key[strings.LastIndex(f.key, ".")+1:]
		return !f.exact() && name != "from" && name != "domain" && name != "logo"
	case "CEL":
		return true
	}
	return strings.HasPrefix(f.into.kind, "mapping")
}
