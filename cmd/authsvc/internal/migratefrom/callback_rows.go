package migratefrom

import "slices"

// ownRow reports whether a value is the row of the user in the database, as in
// prisma.user.findUnique({where: {id: token.sub}}). The adapter of Prisma requires that
// the model is called user. Other conditions in where could find another row or none.
func (c *callback) ownRow(call node) bool {
	if call.kind != callNode || call.of.kind != nameNode || len(call.items) != 1 {
		return false
	}
	path := call.of.path
	if len(path) < 3 || path[len(path)-2] != "user" || !slices.Contains([]string{"findUnique", "findUniqueOrThrow", "findFirst", "findFirstOrThrow"}, path[len(path)-1]) {
		return false
	}
	where, ok := c.resolve(call.items[0]).get("where")
	if where = c.plain(where); !ok || where.kind != objectNode || len(where.members) != 1 || where.members[0].spread {
		return false
	}
	key := where.members[0]
	if c.rooted(c.inside(key.value)) == "session.user."+key.key {
		return key.key == "id" || key.key == "email"
	}
	s, ok := c.origin(key.value)
	return ok && (key.key == "id" && s.kind == "id" || key.key == "email" && s.kind == "basic" && s.path == "email")
}
