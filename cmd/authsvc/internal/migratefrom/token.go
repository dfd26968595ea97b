package migratefrom

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A lexeme is a kind of token of JavaScript or TypeScript.
type lexeme byte

const (
	lexWord     lexeme = iota + 1 // an identifier or a keyword
	lexText                       // a string, or a template without expressions
	lexTemplate                   // a template with expressions
	lexNumber
	lexRegex
	lexPunct
)

// A token is a token of a source file.
type token struct {
	kind lexeme
	text string // as written; of a text, its value
	line int    // counted from 1
	// match is the index of the other bracket of a pair, or the number of tokens if the
	// bracket is never closed. Only brackets have it.
	match int
	// parts and inner hold a template: the texts, and the tokens between them.
	parts []string
	inner [][]token
}

func (t token) is(text string) bool {
	return t.text == text && (t.kind == lexPunct || t.kind == lexWord)
}

// maxNesting is how deeply templates and expressions may be nested.
const maxNesting = 100

// A lexer splits a source into tokens. It accepts TypeScript and JSX, and never fails:
// a quote or a slash that begins nothing is a token of its own.
type lexer struct {
	text string
	at   int
	line int
	deep int
	out  []token
	// plain holds, for a quote or a slash that is not closed on its line, where that
	// line ends: others of its kind on the line begin nothing either. A template may
	// end on any line. It keeps the lexer linear.
	plain map[byte]int
}

// tokenize returns the tokens of a source.
func tokenize(text string) []token {
	x := &lexer{text: text, line: 1, plain: map[byte]int{}}
	x.run(false)
	return x.out
}

// run reads tokens to the end of the text or, in a template, to the brace that closes
// an expression.
func (x *lexer) run(inTemplate bool) {
	open := 0
	for x.at < len(x.text) {
		c := x.text[x.at]
		switch {
		case c == '\n':
			x.line++
			x.at++
		case c == ' ' || c == '\t' || c == '\r':
			x.at++
		case x.comment():
		case c == '"' || c == '\'':
			x.quoted(c)
		case c == '`':
			x.template()
		case c >= '0' && c <= '9':
			x.take(lexNumber, func(r rune) bool { return r == '.' || r == '_' || isWordRune(r) })
		case c == '/' && x.regexMayBegin() && x.regex():
		case inTemplate && c == '}' && open == 0:
			pairUp(x.out)
			return
		default:
			switch c {
			case '{':
				open++
			case '}':
				open--
			}
			x.other()
		}
	}
	pairUp(x.out)
}

func (x *lexer) rest() string { return x.text[x.at:] }

func (x *lexer) add(kind lexeme, text string, line int) {
	x.out = append(x.out, token{kind: kind, text: text, line: line})
}

// comment skips a comment, if one begins here.
func (x *lexer) comment() bool {
	end := ""
	switch {
	case strings.HasPrefix(x.rest(), "//"), x.at == 0 && strings.HasPrefix(x.rest(), "#!"):
		end = "\n"
	case strings.HasPrefix(x.rest(), "/*"):
		end = "*/"
	default:
		return false
	}
	n := strings.Index(x.rest()[2:], end)
	switch {
	case n < 0:
		n = len(x.rest())
	case end == "\n":
		n += 2
	default:
		n += 4
	}
	x.line += strings.Count(x.rest()[:n], "\n")
	x.at += n
	return true
}

// quoted reads a string. A quote that is not closed on its line, as in the text of JSX,
// is a token of its own.
func (x *lexer) quoted(quote byte) {
	line, begin := x.line, x.at
	var b strings.Builder
	i := x.at + 1
	for ; i < len(x.text) && x.at >= x.plain[quote] && x.text[i] != '\n'; i++ {
		switch c := x.text[i]; c {
		case quote:
			x.at = i + 1
			x.add(lexText, b.String(), line)
			return
		case '\\':
			n := unescape(&b, x.text[i:])
			x.line += strings.Count(x.text[i:i+n], "\n")
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	x.plain[quote] = max(x.plain[quote], i)
	x.line, x.at = line, begin+1
	x.add(lexPunct, string(quote), line)
}

// unescape appends the value of an escape sequence and returns its length. It leaves
// sequences with code points as they are: no name in a configuration needs them.
func unescape(b *strings.Builder, text string) int {
	if len(text) < 2 {
		return 1
	}
	switch c := text[1]; c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case '\n':
	case 'u', 'x':
		b.WriteString(text[:2])
	default:
		_, n := utf8.DecodeRuneInString(text[1:])
		b.WriteString(text[1 : 1+n])
		return 1 + n
	}
	return 2
}

// template reads a template and the expressions in it.
func (x *lexer) template() {
	t := token{kind: lexTemplate, line: x.line}
	begin := x.at
	x.at++
	var b strings.Builder
	for x.at < len(x.text) && begin >= x.plain['`'] {
		c := x.text[x.at]
		switch {
		case c == '`':
			x.at++
			t.parts = append(t.parts, b.String())
			if len(t.inner) == 0 {
				t.kind, t.text, t.parts = lexText, b.String(), nil
			}
			x.out = append(x.out, t)
			return
		case c == '\\':
			n := unescape(&b, x.rest())
			x.line += strings.Count(x.rest()[:n], "\n")
			x.at += n
		case strings.HasPrefix(x.rest(), "${") && x.deep < maxNesting:
			t.parts = append(t.parts, b.String())
			b.Reset()
			in := &lexer{text: x.text, at: x.at + 2, line: x.line, deep: x.deep + 1, plain: x.plain}
			in.run(true)
			t.inner = append(t.inner, in.out)
			x.at, x.line = min(in.at+1, len(x.text)), in.line
		default:
			if c == '\n' {
				x.line++
			}
			b.WriteByte(c)
			x.at++
		}
	}
	// It is never closed, as in the text of JSX. Only the outermost lexer reads what
	// follows.
	if x.plain['`'] = len(x.text); x.deep > 0 {
		x.at = len(x.text)
		return
	}
	x.at, x.line = begin+1, t.line
	x.add(lexPunct, "`", t.line)
}

// regexMayBegin reports whether a slash here begins a regular expression: it does where
// a value is expected.
func (x *lexer) regexMayBegin() bool {
	if len(x.out) == 0 {
		return true
	}
	switch last := x.out[len(x.out)-1]; last.kind {
	case lexPunct:
		return !strings.Contains(")]}<", last.text)
	case lexWord:
		return strings.Contains(" return typeof case in of delete void throw new else do await yield ", " "+last.text+" ")
	}
	return false
}

// regex reads a regular expression, which ends on its line.
func (x *lexer) regex() bool {
	class := false
	i := x.at + 1
	for ; i < len(x.text) && x.at >= x.plain['/'] && x.text[i] != '\n'; i++ {
		switch x.text[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if class {
				continue
			}
			x.add(lexRegex, x.text[x.at:i+1], x.line)
			x.at = i + 1
			for x.at < len(x.text) && isWordRune(rune(x.text[x.at])) {
				x.at++
			}
			return true
		}
	}
	x.plain['/'] = max(x.plain['/'], i)
	return false
}

func isWordRune(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// take reads a token of the runes for which in is true.
func (x *lexer) take(kind lexeme, in func(rune) bool) {
	n := strings.IndexFunc(x.rest(), func(r rune) bool { return !in(r) })
	if n < 0 {
		n = len(x.rest())
	}
	x.add(kind, x.rest()[:n], x.line)
	x.at += n
}

// operators lists the operators of several characters that the parser tells apart.
var operators = []string{"...", "===", "!==", "??=", "||=", "&&=", "=>", "?.", "??", "||", "&&", "==", "!=", "<=", ">=", "+=", "-=", "++", "--", "**"}

// other reads a word or an operator.
func (x *lexer) other() {
	r, n := utf8.DecodeRuneInString(x.rest())
	if isWordRune(r) || r == '#' {
		x.take(lexWord, func(r rune) bool { return isWordRune(r) || r == '#' })
		return
	}
	for _, op := range operators {
		if strings.HasPrefix(x.rest(), op) {
			x.add(lexPunct, op, x.line)
			x.at += len(op)
			return
		}
	}
	if !unicode.IsSpace(r) && r != '\ufeff' {
		x.add(lexPunct, x.rest()[:n], x.line)
	}
	x.at += n
}

// pairUp sets the match of all brackets. A closing bracket without an opening one matches
// itself.
func pairUp(tokens []token) {
	var open []int
	waiting := map[string]int{} // how many of each bracket are in open
	closes := map[string]string{")": "(", "]": "[", "}": "{"}
	for i := range tokens {
		t := &tokens[i]
		if t.kind != lexPunct {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			t.match = len(tokens)
			open = append(open, i)
			waiting[t.text]++
		case ")", "]", "}":
			t.match = i
			for done := waiting[closes[t.text]] == 0; !done; {
				last := open[len(open)-1]
				open = open[:len(open)-1]
				waiting[tokens[last].text]--
				if done = tokens[last].text == closes[t.text]; done {
					tokens[last].match, t.match = i, last
				}
			}
		}
	}
}
