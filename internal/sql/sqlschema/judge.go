package sqlschema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/text"
)

// A Use names the kind of values that authsvc writes into a column.
type Use int

// The uses of columns.
const (
	UseText   Use = iota // text of any content
	UseID                // an id, or a reference to one
	UseTime              // a moment, to the millisecond
	UseNumber            // seconds since 1970
)

// A written column is one that authsvc writes.
type written struct {
	use    Use
	day    bool // of a moment, the day suffices
	absent bool // some sign-ins write NULL
	least  int  // characters of every value; a narrower column never works
	enough int  // characters of the longest value; a narrower column fails for some
}

// Lengths of values, in characters, unless the engine limits them otherwise.
const (
	idLength       = 36   // that the engine proposes
	plainSession   = 43   // a session token in the compat modes
	digestSession  = 50   // its digest in mode none, with its prefix
	linkLength     = 64   // SHA-256 in hexadecimal, as NextAuth.js stores it
	emailLength    = 254  // RFC 5321
	nameLength     = 255  // of users, and the ids of users at providers
	imageLength    = 2048 // of a URL
	providerLength = 40   // the id of a provider
	kindLength     = 11   // "credentials", the longest type of an account
	shortLength    = 32   // the type of a token
	scopeLength    = 255
	stateLength    = 128
)

// writes describes the columns that authsvc writes. The tokens of providers have a
// warning of their own, because their length is not known.
func (d *Database) writes() map[string]written {
	token := digestSession
	if d.Shares {
		token = plainSession
	}
	return map[string]written{
		"User.id":            {use: UseID, least: idLength},
		"User.name":          {absent: true, enough: nameLength},
		"User.email":         {absent: true, enough: emailLength},
		"User.emailVerified": {use: UseTime, day: true, absent: true},
		"User.image":         {absent: true, enough: imageLength},

		"Account.id":                {use: UseID, least: idLength},
		"Account.userId":            {use: UseID, least: idLength},
		"Account.type":              {least: len("oidc"), enough: kindLength},
		"Account.provider":          {enough: providerLength},
		"Account.providerAccountId": {enough: nameLength},
		"Account.refresh_token":     {absent: true},
		"Account.access_token":      {absent: true},
		"Account.expires_at":        {use: UseNumber, absent: true},
		"Account.token_type":        {absent: true, enough: shortLength},
		"Account.scope":             {absent: true, enough: scopeLength},
		"Account.id_token":          {absent: true},
		"Account.session_state":     {absent: true, enough: stateLength},

		"Session.id":           {use: UseID, least: idLength},
		"Session.sessionToken": {least: token},
		"Session.userId":       {use: UseID, least: idLength},
		"Session.expires":      {use: UseTime},

		"VerificationToken.identifier": {enough: emailLength},
		"VerificationToken.token":      {least: linkLength},
		"VerificationToken.expires":    {use: UseTime},
	}
}

// A Typing says how strictly a database treats the types of columns.
type Typing int

// The kinds of typing.
const (
	// Strict: a value of another type is refused.
	Strict Typing = iota
	// Converting: numbers and text are converted.
	Converting
	// Untyped: a column accepts every value, but may convert it.
	Untyped
)

// A held kind names the kind of values that a column can hold.
type held int

const (
	heldOther held = iota
	heldText
	heldUUID
	heldList // an enum, or one of several words
	heldBool
	heldNumber
	heldDecimal
	heldReal // a number that is not read as an integer
	heldTime
	heldDate
	heldBytes
	heldUnknown // any of them
)

// holds returns the kind of values that a column can hold.
func holds(c *Column) held {
	base := strings.ToLower(cmp.Or(c.Base, c.Type))
	starts := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(base, w) })
	}
	if !strings.HasSuffix(base, "[]") {
		switch {
		case c.UUID || base == "uuid":
			return heldUUID
		case base == "domain":
			return heldUnknown
		case base == "date":
			return heldDate
		case starts("enum", "set"):
			return heldList
		case starts("text", "char", "varchar", "nvarchar", "nchar", "citext", "clob", "string", "tinytext", "mediumtext", "longtext"):
			return heldText
		}
	}
	switch kindOf(&Column{Type: base, Number: c.Number}) {
	case sqladapter.Bool:
		return heldBool
	case sqladapter.Integer:
		return heldNumber
	case sqladapter.Decimal:
		return heldDecimal
	case sqladapter.Float:
		return heldReal
	case sqladapter.Time:
		return heldTime
	case sqladapter.Bytes:
		return heldBytes
	}
	return heldOther
}

// A verdict says whether a column takes the values that authsvc writes.
type verdict int

const (
	takesAll verdict = iota
	takesSome
	takesNone
)

// takes judges the type of a column.
func (d *Database) takes(w written, c *Column) verdict {
	u, h := w.use, holds(c)
	one := func(list ...held) verdict {
		if slices.Contains(list, h) {
			return takesAll
		}
		return takesNone
	}
	switch {
	case h == heldUnknown, h == heldDate && w.day:
		return takesAll
	case h == heldList && u == UseText:
		return takesSome
	case d.Typing == Untyped:
		return untyped(u, h)
	case u == UseTime:
		return one(heldTime)
	case u == UseNumber && h == heldNumber && c.Size > 0 && c.Size < 4:
		return takesNone
	case u == UseNumber && d.Typing == Converting && h == heldDecimal && wholeDecimal.MatchString(c.Type):
		return takesAll
	case u == UseNumber && d.Typing == Converting:
		return one(heldNumber, heldText)
	case u == UseNumber:
		return one(heldNumber)
	}
	list := []held{heldText}
	if d.Typing == Converting {
		list = append(list, heldBytes)
	}
	if u == UseID {
		list = append(list, heldNumber, heldUUID)
	}
	return one(list...)
}

// wholeDecimal matches the types of decimals without a fraction that hold the seconds
// since 1970.
var wholeDecimal = text.LazyRegexp(`^decimal\(\d\d,0\)`)

// untyped judges a column of a database in which the declared type only suggests a
// conversion. A boolean cannot hold times: a 0 of the other program would be read as
// 1970, when an address was verified.
func untyped(u Use, h held) verdict {
	var never []held
	switch u {
	case UseTime:
		never = []held{heldBool, heldList}
	case UseNumber:
		never = []held{heldBool, heldTime, heldReal, heldText, heldUUID, heldList}
	case UseText:
		never = []held{heldBool, heldTime, heldReal, heldDecimal, heldNumber}
	case UseID:
		never = []held{heldBool, heldTime, heldReal, heldDecimal}
	}
	if slices.Contains(never, h) {
		return takesNone
	}
	return takesAll
}

// A Repair is a change that makes a column usable.
type Repair struct {
	Use   Use
	Type  string // of the column that it refers to; empty: any type for Use
	Null  bool   // the column must accept NULL
	Keep  bool   // the type is right and must stay
	Width int    // characters that the column must hold
	Was   string // what the column holds now: text, bool, number, time or other
}

func (h held) String() string {
	switch h {
	case heldText, heldUUID, heldList:
		return "text"
	case heldBool:
		return "bool"
	case heldNumber, heldDecimal, heldReal:
		return "number"
	case heldTime:
		return "time"
	}
	return "other"
}

// judge returns why a column never takes what authsvc writes (never), or takes it only
// for some people (some), with the remedy. Both are empty for a usable column.
func (d *Database) judge(found Tables, logical string, c *Column, w written) (never, some string) {
	table, _, _ := strings.Cut(logical, ".")
	number := c.Number && strings.HasSuffix(logical, ".id") // generated by the database
	if number && w.use == UseID {
		return "", ""
	}
	t := found[table]
	repair := Repair{Use: w.use, Null: w.absent || !c.NotNull, Width: max(w.least, w.enough), Was: holds(c).String()}
	about := fmt.Sprintf("table %s: column %s (%s) ", d.Names[table], c.Name, c.Type)
	fix := func() string { return ": " + d.Remedy(d.Names[table], t, c, repair) }
	v := d.takes(w, c)
	switch {
	case c.Generated:
		return about + "is generated by the database, but authsvc must write it: make it an ordinary column", ""
	case v == takesNone:
		return about + "cannot hold " + map[Use]string{UseText: "text", UseID: "ids", UseTime: "times", UseNumber: "seconds since 1970"}[w.use] + fix(), ""
	}
	if wrong, want := d.refersWrongly(found, logical, c); wrong {
		repair.Type = want
		return about + "cannot refer to " + d.Names["User"] + "." + d.Names["User.id"] + " (" + want + ")" + fix(), ""
	}
	narrow := (holds(c) == heldText || holds(c) == heldBytes) && c.Size > 0
	switch {
	case narrow && c.Size < w.least:
		return about + fmt.Sprintf("is too narrow for %s of %d characters", map[bool]string{true: "ids", false: "values"}[w.use == UseID], w.least) + fix(), ""
	case v == takesSome:
		return "", about + "takes only some values; sign-ins with other values will fail" + fix()
	case narrow && c.Size < w.enough:
		return "", about + fmt.Sprintf("is too narrow for some values, which have up to %d characters; sign-ins with them will fail", w.enough) + fix()
	case w.absent && c.NotNull:
		repair.Keep = true
		return "", about + "is NOT NULL; sign-ins that bring no value for it will fail" + fix()
	}
	return "", ""
}

// refersWrongly reports whether a reference to a user has another type than the id of a
// user, and returns that type.
func (d *Database) refersWrongly(found Tables, logical string, c *Column) (wrong bool, want string) {
	if d.Typing != Strict || !strings.HasSuffix(logical, ".userId") || found["User"] == nil {
		return false, ""
	}
	id := d.column(found["User"], "User.id")
	return id != nil && holds(id) != holds(c) && holds(id) != heldUnknown && holds(c) != heldUnknown, typeOrEmpty(id)
}

func typeOrEmpty(c *Column) string {
	if c == nil {
		return ""
	}
	return c.Type
}

// judgements lists, for all columns of the shared tables, what judge says.
func (d *Database) judgements(found Tables) (never, some []string) {
	writes := d.writes()
	for _, logical := range d.Names.Columns() {
		table, _, _ := strings.Cut(logical, ".")
		if found[table] == nil {
			continue
		}
		c := d.column(found[table], logical)
		if c == nil {
			continue
		}
		n, s := d.judge(found, logical, c, writes[logical])
		if n != "" {
			never = append(never, n)
		}
		if s != "" {
			some = append(some, s)
		}
	}
	return never, some
}
