package migratefrom

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// spelled returns the tokens of a source, with marks for their kinds: texts in quotes,
// templates in backticks, regular expressions in slashes.
func spelled(tokens []token) string {
	var all []string
	for _, t := range tokens {
		switch t.kind {
		case lexText:
			all = append(all, `"`+t.text+`"`)
		case lexTemplate:
			text := "`" + t.parts[0]
			for i, inner := range t.inner {
				text += "${" + spelled(inner) + "}" + t.parts[i+1]
			}
			all = append(all, text+"`")
		default:
			all = append(all, t.text)
		}
	}
	return strings.Join(all, " ")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"a.b?.c ?? d // rest\n/* more */ e":  "a . b ?. c ?? d e",
		`x = "a\"b" + 'c\'d\n'`:              "x = \"a\"b\" + \"c'd\n\"",
		"`plain`":                            `"plain"`,
		"`a${b + `c${d}`}e`":                 "`a${b + `c${d}`}e`",
		"`${{a: '}'}}`":                      "`${{ a : \"}\" }}`",
		`f(/[/"']}/g, a / b / c)`:            `f ( /[/"']}/ , a / b / c )`,
		`return /x/.test(y)`:                 `return /x/ . test ( y )`,
		"<p>Don't {x}</p>":                   "< p > Don ' t { x } < / p >",
		"a ` b":                              "a ` b",
		"#!/usr/bin/env node\nconst 𝑥 = 1_0": "const 𝑥 = 1_0",
		"/* never closed":                    "",
		`"never closed` + "\nx":              `" never closed x`,
		"\ufeff{}":                           "{ }",
	} {
		if diff := cmp.Diff(want, spelled(tokenize(source))); diff != "" {
			t.Errorf("%q (-want +have):\n%s", source, diff)
		}
	}
}

// TestLines: lines count through strings, templates and comments.
func TestLines(t *testing.T) {
	t.Parallel()
	tokens := tokenize("/*\n*/ a `\n${\nb}\n` 'c\\\nd' e\n' f\ng")
	want := map[string]int{"a": 2, "e": 6, "f": 7, "g": 8}
	for _, token := range tokens {
		if line, ok := want[token.text]; ok && token.line != line {
			t.Errorf("%s is on line %d, want %d", token.text, token.line, line)
		}
	}
}

// TestBrackets: brackets that do not match end where their block ends.
func TestBrackets(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]int{
		"( [ ] )": {3, 2, 1, 0},
		"( [ )":   {2, 3, 0},
		") ]":     {0, 1},
		"{ ( }":   {2, 3, 0},
	} {
		var have []int
		for _, token := range tokenize(source) {
			have = append(have, token.match)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%q (-want +have):\n%s", source, diff)
		}
	}
}

// shape returns a short form of an expression.
func shape(n node) string {
	var inside []string
	for _, item := range n.items {
		inside = append(inside, shape(item))
	}
	all := strings.Join(inside, ",")
	text := ""
	switch n.kind {
	case otherNode:
		text = "?"
	case textNode:
		text = `"` + n.text + `"`
	case templateNode:
		text = "`" + strings.Join(n.parts, "$") + "`" + all
	case numberNode:
		text = n.text
	case nameNode:
		text = n.name()
	case listNode:
		text = "[" + all + "]"
	case callNode:
		text = shape(*n.of) + "(" + all + ")"
	case memberNode:
		text = shape(*n.of) + "." + n.text
	case fallbackNode:
		text = "or(" + all + ")"
	case conditionalNode:
		text = "if(" + all + ")"
	case functionNode:
		text = "fn"
		if value, ok := n.result(); ok {
			text += ":" + shape(value)
		}
	case objectNode:
		for _, m := range n.members {
			mark := m.key + ":"
			if m.spread {
				mark = "..."
			}
			inside = append(inside, mark+shape(m.value))
		}
		text = "{" + strings.Join(inside, ",") + "}"
	}
	if n.spread {
		text = "..." + text
	}
	return text
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`process.env.A! as string`: `process.env.A`,
		`process.env["A"] ?? "x"`:  `or(process.env.A,"x")`,
		`{a, "b-c": 1, [d]: 2, ...e, f() { return 1 }, async g(x: {y: z}): Promise<A<B>> {}, get h() { return 2 }, async: 3}`: `{a:a,b-c:1,:2,...e,f:fn:1,g:fn,h:fn:2,async:3}`,
		`[...(x ? [A({b: c})] : []), y && D, e]`: `[...if([A({b:c})],[]),if(D),e]`,
		`P<T>({a})`:                              `P({a:a})`,
		`a < b`:                                  `?`,
		`30 * 24 * 60 * 60`:                      `2592000`,
		`1 + 2`:                                  `?`,
		`new A(await b())`:                       `A(b())`,
		`async ({a, b}: {a: X; b: Y}) => ({...a, c: b.d})`: `fn:{...a,c:b.d}`,
		`(a): b is C => a.d`: `fn:a.d`,
		`x => x`:             `fn:x`,
		`function f(a) { if (a) { return 1 } return 2 }`:    `fn`,
		`function f(a) { g(() => { return 1 }); return 2 }`: `fn:2`,
		"`a${b}c`":                                  "`a$c`b",
		`d.text("x").notNull().default(1)`:          `d.text("x").notNull().default(1)`,
		`{a: b.c} satisfies D<E, F>` + "\nexport x": `{a:b.c}`,
		`(a as any).b`:                              `a.b`,
		`!a`:                                        `?`,
		`{a: 1 b: 2, c: 3}`:                         `{a:?,c:3}`,
		`[a b, c]`:                                  `[?,c]`,
		`f(`:                                        `f()`,
		``:                                          `?`,
		`}`:                                         `?`,
	} {
		m := &module{tokens: tokenize(source), parsed: map[int]node{}}
		if have := shape(m.parse(0)); have != want {
			t.Errorf("%s is %s, want %s", source, have, want)
		}
	}
}

// TestNesting: deep nesting is not understood, and costs little.
func TestNesting(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		strings.Repeat("(", 20_000), strings.Repeat("[", 20_000), strings.Repeat("{a:", 20_000), strings.Repeat("`${", 20_000),
		strings.Repeat("a?", 20_000), strings.Repeat("a??", 20_000), strings.Repeat("!", 20_000), strings.Repeat("a=>", 20_000),
		strings.Repeat("a<", 20_000), strings.Repeat("'\"`/", 20_000), strings.Repeat("(a):", 20_000), strings.Repeat("[(", 20_000) + strings.Repeat("]", 20_000),
		strings.Repeat("import{", 20_000), strings.Repeat("const{a=", 20_000), strings.Repeat("export*", 20_000), strings.Repeat("const a:", 20_000),
		strings.Repeat("'\\", 20_000), strings.Repeat("export{", 20_000), strings.Repeat("new ", 20_000), strings.Repeat("const a=b<", 20_000),
	} {
		m := newModule("a.ts", source)
		if m.parse(0); len(m.tokens) == 0 {
			t.Errorf("%.10q… has no tokens", source)
		}
	}
}

// FuzzModule: no source makes the reader panic, or takes long.
func FuzzModule(f *testing.F) {
	for _, seed := range []string{
		"import NextAuth, {type A as B} from 'next-auth'\nexport default NextAuth({...c, providers: [A({b: process.env.C!})]} satisfies D)",
		"const {a: b = 1} = require('x').default; module.exports = {a}; exports.b = `x${b}`; export * from './y'; export {a as b} from 'z'",
		"export const {auth, handlers} = NextAuth(async (r) => { return {callbacks: {session({session, token}) { session.user.id = token.sub; return session }}} })",
		"<p>Don't</p> /re[/]/ (a): b => c",
		"const a = {...a, ...a, callbacks: {session: a}, providers: b}, b = [...b, ...b], c = c ?? c, d = `${d}${d}`",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 1<<16 {
			return
		}
		m := newModule("auth.ts", source)
		for i, token := range m.tokens {
			if token.line < 1 || token.line > strings.Count(source, "\n")+1 {
				t.Fatalf("token %d is on line %d", i, token.line)
			}
		}
		r := &reader{sources: &sources{folder: &folder{}, modules: map[string]*module{"auth.ts": m}}, Report: &Report{},
			claims: map[string]string{}, expose: map[string]string{}, version: 5}
		found := append(r.calls(m), r.declared(m)...)
		for _, n := range found[:min(3, len(found))] {
			r.options, r.entry = r.flat(n, "options", true), n
			r.propose(nil)
		}
	})
}
