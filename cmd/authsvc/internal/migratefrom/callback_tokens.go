package migratefrom

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// reportTokens says for each member that the callback jwt adds to the token how the
// server of the application reads it from a token of authsvc, which does not run the
// callback. With sessions in the database, there are no tokens.
func (r *reader) reportTokens(tokens map[string]source) {
	if !r.jwt {
		return
	}
	for _, name := range keysOf(tokens) {
		s, old := tokens[name], "token"+access(name)
		if slices.Contains(basics, name) && s.kind != "basic" {
			continue // jwtMember has reported it
		}
		switch now, missing := r.tokenMember(s, old); now {
		case old:
		case "":
			r.addAt(Open, jwtCallback, s.place, "%s is not in tokens of authsvc; if code on your server reads it, %s", old, missing)
		default:
			r.addAt(Note, jwtCallback, s.place, "code on your server that reads %s must read %s (docs/moving-from-nextauth.md)", old, now)
		}
	}
}

// reportSession says how each line of the callback session that reads a member of the
// token must read it: the server of the application continues to run the callback. It
// reports nothing if the callback also reads authsvc_session.
func (r *reader) reportSession(n node) {
	fn := r.resolve(n)
	if fn.kind != functionNode || !r.jwt {
		return
	}
	var names []string
	for local, name := range parameters(fn) {
		if name == "token" {
			names = append(names, local)
		}
	}
	reads := tokenReads(fn.body, names)
	if readsOwn(reads) {
		return
	}
	for _, read := range slices.Compact(reads) {
		old := "token" + access(read.member)
		s, set := r.tokens[read.member]
		if now, _ := r.tokenMember(s, old); set && now != "" && now != old {
			r.addAt(Note, "callback session", fmt.Sprintf("%s:%d", fn.in.file, read.line), "on your server, this line must read %s (docs/moving-from-nextauth.md)", now)
		}
	}
}

// tokenMember returns the expression that reads a value from tokens of authsvc and, as
// long as they are valid, from old, the member in the tokens of NextAuth.js. If tokens
// of authsvc lack the value, it returns what the operator can do.
func (r *reader) tokenMember(s source, old string) (expression, missing string) {
	switch s.kind {
	case "id":
		return "token.sub", ""
	case "basic":
		if s.path == "image" {
			return "token.picture", ""
		}
		return "token." + s.path, ""
	case "provider":
		if old == "token.provider" {
			return old, ""
		}
		return "token.provider ?? " + old, ""
	case "column":
		column, known := r.adapter.column(s.path)
		if known && slices.Contains(r.columns, column) {
			// A removed value is null. It must not become the old one again.
			return "token.authsvc_session?.columns ? token.authsvc_session.columns" + access(column) + " : " + old, ""
		}
		return "", "add its column to storage.user_columns"
	case "profile":
		for _, claim := range keysOf(r.claims) {
			if r.claims[claim] == s.path {
				return "token.authsvc_session?.claims" + optionalAccess(claim) + " ?? " + old, ""
			}
		}
		return "", "add it to session.claims"
	}
	return "", "read it from your database"
}

// access returns the access to a member of an object, .name or ["name"].
func access(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return !isWordRune(c) }) || name == "" || name[0] >= '0' && name[0] <= '9' {
		return "[" + strconv.Quote(name) + "]"
	}
	return "." + name
}

// optionalAccess is access for an object that may be missing.
func optionalAccess(name string) string { return "?." + strings.TrimPrefix(access(name), ".") }
