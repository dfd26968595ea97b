package migratefrom

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// readMiddleware reports the middleware of the application, which stays unless it reads
// members of the token that tokens of authsvc have elsewhere.
func (r *reader) readMiddleware() {
	for _, file := range r.names {
		base := strings.TrimSuffix(path.Base(file), path.Ext(file))
		if !isSource(file) || base != "middleware" && base != "proxy" || !mentionsAuth(r.text(file)) {
			continue
		}
		m := r.module(file)
		if !r.reportReads("middleware", m, span{m.tokens, 0, len(m.tokens)}) {
			r.addAt(Note, "middleware", file, "stays: it reads the cookies of authsvc with the same secret")
		}
	}
}

// readAuthorized reports the callback that the middleware of version 5 calls.
func (r *reader) readAuthorized(n node) {
	const part = "callback authorized"
	if fn := r.resolve(n); fn.kind != functionNode || !r.reportReads(part, fn.in, fn.body) {
		r.add(Note, part, n, "stays: your middleware calls it")
	}
}

// kept lists the members that tokens of authsvc have where those of NextAuth.js have
// them.
var kept = []string{"name", "email", "picture", "sub", "iat", "exp", "jti", "provider"}

// reportReads reports the members of the token that code reads and that tokens of
// authsvc have elsewhere, or not at all. It reports nothing of code that also reads
// authsvc_session.
func (r *reader) reportReads(part string, m *module, code span) (found bool) {
	reads := tokenReads(code, nil)
	if !r.jwt || readsOwn(reads) {
		return false
	}
	for _, read := range reads {
		old, place := "token"+access(read.member), fmt.Sprintf("%s:%d", m.file, read.line)
		s, set := r.tokens[read.member]
		now, missing := old, ""
		switch {
		case set:
			now, missing = r.tokenMember(s, old)
		case !slices.Contains(kept, read.member):
			now, missing = "", "read it from session.claims or a column in storage.user_columns"
		}
		switch now {
		case old:
			continue
		case "":
			r.addAt(Open, part, place, "reads %s, which is not in tokens of authsvc; %s (docs/moving-from-nextauth.md)", old, missing)
		default:
			r.addAt(Open, part, place, "reads %s, which new sign-ins do not have there; it must read %s (docs/moving-from-nextauth.md)", old, now)
		}
		found = true
	}
	return found
}

// readsOwn reports whether code reads the member that only tokens of authsvc have.
func readsOwn(reads []tokenRead) bool {
	return slices.ContainsFunc(reads, func(read tokenRead) bool { return read.member == "authsvc_session" })
}

// A tokenRead is a member that code reads from the token.
type tokenRead struct {
	member string
	line   int
}

// A scan looks for reads of the token in code. Its names are those of the token there.
type scan struct {
	span
	names []string
	found []tokenRead
}

// at returns a token of the code.
func (s *scan) at(i int) token {
	if i >= s.from && i < min(s.to, len(s.tokens)) {
		return s.tokens[i]
	}
	return token{}
}

// tokenReads returns the members that code reads from a value called token, from another
// name that the code gives it, or from the result of getToken.
func tokenReads(code span, names []string) []tokenRead {
	s := &scan{span: code, names: append(slices.Clip(names), "token")}
	for i := s.from; i < min(s.to, len(s.tokens)); i++ {
		s.rename(i)
	}
	for i := s.from; i < min(s.to, len(s.tokens)); i++ {
		for _, inner := range s.at(i).inner {
			s.found = append(s.found, tokenReads(span{inner, 0, len(inner)}, s.names)...)
		}
		s.read(i)
	}
	slices.SortStableFunc(s.found, func(a, b tokenRead) int { return a.line - b.line })
	return s.found
}

// rename records the names and members that a pattern or a declaration takes from the
// token.
func (s *scan) rename(i int) {
	isMember := s.at(i).is("token") && s.at(i+1).is(":")
	switch before := s.at(i - 1); {
	case isMember && s.at(i+2).is("{"): // ({token: {role}}) =>
		s.destructured(i + 2)
	case isMember && s.at(i+2).kind == lexWord && (s.at(i+3).is("}") || s.at(i+3).is(",")): // ({token: t}) =>
		s.name(s.at(i + 2).text)
	case !s.at(i).is("=") || !isToken(s.tokens[i+1:min(s.to, len(s.tokens))], s.names):
	case before.is("}") && s.at(before.match).is("{"): // const {role} = token
		s.destructured(before.match)
	case before.kind == lexWord && !s.at(i-2).is("."): // const t = await getToken({req})
		s.name(before.text)
	}
}

// name records another name of the token. There are few, which bounds the work.
func (s *scan) name(name string) {
	if len(s.names) < maxSteps {
		s.names = append(s.names, name)
	}
}

// destructured records the names in {a, b: c}.
func (s *scan) destructured(open int) {
	named(span{s.tokens, open + 1, min(s.at(open).match, s.to, len(s.tokens))}, func(of, _ string) {
		s.found = append(s.found, tokenRead{of, s.at(open).line})
	})
}

// read records a member that is read from the token at i, such as token?.role or
// (await getToken({req}) as JWT).role.
func (s *scan) read(i int) {
	t, next, before := s.at(i), i+1, i-1
	switch {
	case t.is("getToken") && s.at(next).is("("):
		if next = s.at(next).match + 1; s.at(before).is("await") {
			before--
		}
	case t.kind != lexWord || !slices.Contains(s.names, t.text):
		return
	}
	for steps := 0; steps < maxSteps && (steps > 0 || s.at(next).is("as")) && !s.at(next).is(")"); steps++ {
		next++
	}
	called := s.at(before-1).kind == lexWord && !s.at(before-1).is("return") // verify(token).role
	if s.at(next).is(")") && s.at(before).is("(") && !called {
		next++
	}
	if s.at(next).is("!") {
		next++
	}
	dot := s.at(next).is(".") || s.at(next).is("?.")
	if s.at(next).is("?.") && s.at(next+1).is("[") {
		next++
	}
	member := s.at(next + 1)
	if s.at(next).is("[") && member.kind == lexText || dot && member.kind == lexWord && !s.at(next+2).is("(") {
		s.found = append(s.found, tokenRead{member.text, member.line})
	}
}

// isToken reports whether an expression is the token: token, req.nextauth.token or await
// getToken(…).
func isToken(code []token, names []string) bool {
	for i, t := range code {
		switch {
		case t.is("await"), t.is("."), t.is("?."), t.is("("):
		case t.is("getToken"):
			return true
		case t.kind != lexWord:
			return false
		case slices.Contains(names, t.text):
			return i+1 == len(code) || !code[i+1].is(".") && !code[i+1].is("?.") && !code[i+1].is("[")
		}
	}
	return false
}
