package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/seal/sessionshape"
	"authsvc/internal/sql/sqladapter"
)

type typesCommand struct {
	For  string            `arg:"" optional:"" enum:"next-auth,client" default:"next-auth" help:"next-auth: the contents of next-auth.d.ts (default). client: a type Session for client.js and other readers of GET session."`
	Type map[string]string `placeholder:"NAME=TYPE" mapsep:"none" help:"The TypeScript type of a value, such as groups=string[]. May be repeated."`
}

// Run prints the TypeScript types of sessions.
func (c *typesCommand) Run(p *program) error {
	p.noSignIn = true
	s, err := p.load(nil)
	if err != nil {
		return p.hintDev(err)
	}
	o := s.Engine.Session
	shape, _ := sessionshape.Compile(sessionshape.Options{Claims: o.Claims, Expose: o.Expose, Columns: s.Storage.Naming.UserColumns,
		ShowsID: sameCompat(s.Engine.Compat, authsvc.CompatNone)}) // load has validated it
	fields := shape.Shown()
	for _, name := range slices.Sorted(maps.Keys(c.Type)) {
		if !slices.ContainsFunc(fields, func(f sessionshape.Field) bool { return f.Name == name }) {
			return fmt.Errorf("--type %s: session.expose has no such name: %w", name, errUsage)
		}
		if text := c.Type[name]; strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\r\n") {
			return fmt.Errorf("--type %s: write a type on one line, such as %s=string: %w", name, name, errUsage)
		}
	}
	kinds, err := c.columnKinds(p.ctx, s, fields)
	if err != nil {
		fmt.Fprintln(p.stderr, "warning: the types of columns are not known:", oneLine(err))
	}
	var members strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&members, "      %s: %s\n", propertyName(f.Name), cmp.Or(c.Type[f.Name], typeOf(f, kinds)))
	}
	text := members.String()
	if c.For == "client" { // indented one level less
		text = strings.ReplaceAll(text, "      ", "    ")
	}
	if _, err = fmt.Fprintf(p.stdout, typesTemplate[c.For], text); err != nil || c.For != "next-auth" ||
		sameCompat(s.Engine.Compat, authsvc.CompatNone) || o.Strategy != authsvc.StrategyJWT {
		return err
	}
	typed := func(source sessionshape.Source, of, mark string) string { // as GET session has it
		kind := "unknown"
		if i := slices.IndexFunc(fields, func(f sessionshape.Field) bool { return f.Source == source && f.Of == of }); i >= 0 {
			kind = cmp.Or(c.Type[fields[i].Name], typeOf(fields[i], kinds))
		}
		return propertyName(of) + mark + ": " + kind
	}
	var columns, claims []string
	for _, name := range slices.Sorted(slices.Values(s.Storage.Naming.UserColumns)) {
		columns = append(columns, typed(sessionshape.Column, name, ""))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Claims)) {
		claims = append(claims, typed(sessionshape.Claim, name, "?"))
	}
	_, err = fmt.Fprintf(p.stdout, tokenTemplate, strings.Join(columns, "; "), strings.Join(append(claims, "[name: string]: unknown"), "; "))
	return err
}

// tokenTemplate declares the member of tokens that getToken and the callbacks of the
// application read. The members of columns and claims are inserted.
const tokenTemplate = `
declare module "next-auth/jwt" {
  interface JWT {
    authsvc_session?: {
      columns?: { %s }
      claims?: { %s }
    }
  }
}
`

// typesTemplate holds the files. The members of user are inserted.
var typesTemplate = map[string]string{
	"next-auth": `// Written by "authsvc types". Keep it as next-auth.d.ts beside your sources.
import type { DefaultSession } from "next-auth"

declare module "next-auth" {
  interface Session extends DefaultSession {
    user: {
%s    } & DefaultSession["user"]
  }
}
`,
	"client": `// Written by "authsvc types client".

/** The answer of GET session while a user is signed in. */
export interface Session {
  user: {
    name: string | null
    email: string | null
    image: string | null
%s  }
  /** When the session ends if nothing renews it, as in "2026-01-31T12:00:00.000Z". */
  expires: string
}
`,
}

// columnKinds asks the store for the types of its columns, if a column is shown whose
// type was not given.
func (c *typesCommand) columnKinds(ctx context.Context, s *config.Settings, fields []sessionshape.Field) (map[string]sqladapter.Kind, error) {
	kinds := map[string]sqladapter.Kind{}
	asks := func(f sessionshape.Field) bool { return f.Source == sessionshape.Column && c.Type[f.Name] == "" }
	if !slices.ContainsFunc(fields, asks) {
		return kinds, nil
	}
	if missing, err := storeIsMissing(s); missing || err != nil {
		return kinds, cmp.Or(err, fmt.Errorf("%s does not exist yet", describeStorage(s)))
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st, err := openStore(ctx, s, false)
	if err != nil {
		return kinds, err
	}
	if typed, ok := st.Adapter.(interface {
		UserColumnKinds() []sqladapter.UserColumn
	}); ok {
		for _, column := range typed.UserColumnKinds() {
			kinds[column.Name] = column.Kind
		}
	}
	return kinds, st.close()
}

// typeOf returns the TypeScript type of a value in GET session.
func typeOf(f sessionshape.Field, kinds map[string]sqladapter.Kind) string {
	switch f.Source {
	case sessionshape.ID:
		return "string"
	case sessionshape.EmailVerified:
		return "boolean"
	case sessionshape.Provider:
		return "string | null"
	case sessionshape.Column:
		if kind, known := kinds[f.Of]; known {
			return columnType(kind)
		}
	}
	return "unknown"
}

func columnType(k sqladapter.Kind) string {
	switch k {
	case sqladapter.Bool:
		return "boolean | null"
	case sqladapter.Integer, sqladapter.Float:
		return "number | null"
	case sqladapter.JSON:
		return "unknown"
	case sqladapter.List:
		return "unknown[] | null"
	default:
		return "string | null"
	}
}

// propertyName quotes a name that is not an identifier.
func propertyName(name string) string {
	plain := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	if name[0] >= '0' && name[0] <= '9' || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return strconv.Quote(name)
	}
	return name
}
