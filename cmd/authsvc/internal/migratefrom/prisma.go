package migratefrom

import (
	"path"
	"slices"
	"strings"
)

// A prismaModel is a model of a Prisma schema.
type prismaModel struct {
	name, table, schema string
	place               node
	fields              []prismaField
}

type prismaField struct {
	name, column, kind string
	optional, list     bool
	// fills means that the database has a default for it. client means that only
	// Prisma's client fills it.
	fills, client bool
	line          int
}

// readPrisma reads the Prisma schemas: the names of tables and columns, the further
// columns of User, and the database.
func (r *reader) readPrisma(call node) {
	models, enums := map[string]prismaModel{}, map[string]bool{}
	var files []string
	for _, name := range r.names {
		if path.Ext(name) == ".prisma" {
			files = append(files, name)
			r.prismaSchema(name, models, enums)
		}
	}
	if len(files) == 0 {
		r.add(Open, "tables", call, "found no .prisma file: set storage.tables and storage.columns if the schema has @map or @@map")
		return
	}
	for _, logical := range logicalTables {
		m, ok := models[logical]
		if !ok {
			r.addAt(Note, "tables", files[0], "there is no model %s; authsvc makes its table", logical)
			continue
		}
		if m.table != logical {
			r.adapter.tables[logical] = m.table
		}
		if m.schema != "" && m.schema != "public" {
			r.add(Open, "tables", m.place, "the table of %s is in the schema %s: add search_path=%s to storage.url", logical, m.schema, m.schema)
		}
		r.prismaColumns(logical, m, models, enums)
	}
}

// prismaColumns records renamed columns, and the further columns of User.
func (r *reader) prismaColumns(logical string, m prismaModel, models map[string]prismaModel, enums map[string]bool) {
	var further []string
	seen := map[string]bool{}
	for _, f := range m.fields {
		if _, relation := models[f.kind]; relation || f.list && !enums[f.kind] && logical != "User" {
			continue
		}
		seen[f.name] = true
		if slices.Contains(logicalColumns[logical], f.name) {
			if f.column != f.name {
				r.adapter.columns[logical+"."+f.name] = f.column
			}
			continue
		}
		if logical == "User" {
			r.adapter.fields[f.name] = f.column
			further = append(further, f.column)
		}
		if !f.optional && !f.list && !f.fills {
			at := m.place
			at.line = f.line
			r.add(Open, "tables", at, "%s.%s needs a value that authsvc does not know; give it a default in the database", logical, f.name)
		}
	}
	for _, column := range logicalColumns[logical] {
		if !seen[column] && (column != "id" || logical == "User") {
			r.add(Open, "tables", m.place, "%s has no column %s: add it", logical, column)
		}
	}
	if len(further) > 0 {
		r.add(OK, "columns", m.place, "further columns of %s: %s", m.table, listed(further))
	}
}

// logicalColumns lists the columns of the shared tables.
var logicalColumns = map[string][]string{
	"User":              {"id", "name", "email", "emailVerified", "image"},
	"Account":           {"id", "userId", "type", "provider", "providerAccountId", "refresh_token", "access_token", "expires_at", "token_type", "scope", "id_token", "session_state"},
	"Session":           {"id", "sessionToken", "userId", "expires"},
	"VerificationToken": {"identifier", "token", "expires"},
}

// prismaSchema reads the models, the enums and the datasource of a file.
func (r *reader) prismaSchema(file string, models map[string]prismaModel, enums map[string]bool) {
	m := &module{file: file}
	kind, model := "", prismaModel{}
	number := 0
	for line := range strings.SplitSeq(r.text(file), "\n") {
		number++
		words := strings.Fields(withoutComment(line))
		switch {
		case len(words) == 0:
		case kind == "" && len(words) >= 2 && strings.Contains(line, "{"):
			kind = words[0]
			model = prismaModel{name: strings.TrimSuffix(words[1], "{"), place: node{in: m, line: number}}
			model.table = model.name
			enums[model.name] = enums[model.name] || kind == "enum"
		case words[0] == "}":
			if before, twice := models[model.name]; kind == "model" && !twice {
				models[model.name] = model
			} else if kind == "model" && slices.Contains(logicalTables, model.name) && !model.same(before) {
				r.add(Open, "tables", model.place, "there is another model %s in %s, which the proposal has: name the folder of one application, or compare storage", model.name, before.place.in.file)
			}
			kind = ""
		case kind == "datasource":
			r.prismaSource(words, withoutComment(line))
		case kind == "model":
			model.add(words, withoutComment(line), number)
		}
	}
}

// same reports whether two models have the same table and columns: Prisma may leave
// copies of a schema beside the clients that it generates.
func (m *prismaModel) same(other prismaModel) bool {
	return m.table == other.table && m.schema == other.schema && slices.EqualFunc(m.fields, other.fields, func(a, b prismaField) bool {
		a.line, b.line = 0, 0
		return a == b
	})
}

// withoutComment removes a comment. A URL in quotes has slashes, too.
func withoutComment(line string) string {
	quoted := false
	for i := range len(line) {
		switch {
		case line[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(line[i:], "//"):
			return line[:i]
		}
	}
	return line
}

// prismaSource reads a line of the datasource.
func (r *reader) prismaSource(words []string, line string) {
	switch words[0] {
	case "provider":
		r.adapter.scheme = map[string]string{"postgresql": "postgres", "postgres": "postgres", "cockroachdb": "postgres", "mysql": "mysql", "sqlite": "sqlite", "mongodb": "mongodb"}[argument(line, "=")]
	case "url":
		if strings.Contains(line, "env(") {
			if name := argument(line, "env("); isVariable(name) {
				r.adapter.variable = name
			}
		}
	}
}

// add adds a line of a model.
func (m *prismaModel) add(words []string, line string, number int) {
	switch {
	case strings.HasPrefix(words[0], "@@map("):
		m.table = argument(line, "@@map(")
	case strings.HasPrefix(words[0], "@@schema("):
		m.schema = argument(line, "@@schema(")
	case strings.HasPrefix(words[0], "@@") || len(words) < 2:
	default:
		f := prismaField{name: words[0], column: words[0], kind: strings.TrimRight(words[1], "?[]"), line: number,
			optional: strings.Contains(words[1], "?"), list: strings.Contains(words[1], "[]")}
		if name := argument(strings.ReplaceAll(line, "\t", " "), " @map("); name != "" {
			f.column = name
		}
		_, after, has := strings.Cut(line, "@default(")
		for _, made := range []string{"cuid(", "uuid(", "nanoid(", "ulid("} {
			f.client = f.client || strings.HasPrefix(after, made)
		}
		f.fills = has && !f.client || strings.Contains(line, "@updatedAt")
		m.fields = append(m.fields, f)
	}
}

// argument returns the text in quotes after a beginning, or "".
func argument(line, beginning string) string {
	_, after, found := strings.Cut(line, beginning)
	_, quoted, open := strings.Cut(after, `"`)
	value, _, closed := strings.Cut(quoted, `"`)
	if !found || !open || !closed {
		return ""
	}
	return value
}
