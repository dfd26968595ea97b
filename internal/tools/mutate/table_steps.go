package main

// steps lists conditions in the atomic steps of stores. Changing an address, undoing
// the change, deleting and keeping an account depend on them. The Redis and MongoDB
// ones need their servers, as the adapters' tests do.
var steps = []mutation{
	{"memory/was-epoch", "adapter/memory", "(a.withEpochs(old).Epoch != was.Epoch || ", "(", "./adapter/memory"},
	{"memory/was-address", "adapter/memory", "|| old.Email != was.Email ||", "||", "./adapter/memory"},
	{"memory/was-proved", "adapter/memory", "|| !old.EmailVerified.Equal(was.EmailVerified)) {", ") {", "./adapter/memory"},
	{"memory/most", "adapter/memory", "if n >= most {", "if " + never + "n >= most {", "./adapter/memory"},
	{"memory/version", "adapter/memory", "case old.Version != c.Version:", "case " + never + "old.Version != c.Version:", "./adapter/memory"},
	{"memory/tries", "adapter/memory", "case c.Tries >= most:", "case " + never + "c.Tries >= most:", "./adapter/memory"},
	{"memory/delete-once", "adapter/memory", "if !ok || c.UserID != userID {", "if ok && c.UserID != userID {", "./adapter/memory"},
	{"memory/delete-of-another", "adapter/memory", "if !ok || c.UserID != userID {", "if !ok || c.UserID == \"\" {", "./adapter/memory"},
	{"memory/pending-ends", "adapter/memory", "return c.Kind == adapter.CredentialPending })", "return false })", "./adapter/memory"},
	{"memory/earlier-user", "adapter/memory", "if r != nil && !seal.IsUUID(u.ID) {", "if " + never + "!seal.IsUUID(u.ID) {", "./adapter/memory"},
	{"sql/earlier-user", "internal/sql/sqladapter", "if err := more(); err != nil || rev == nil {", "if err := more(); err != nil || rev != nil {", "./adapter/sqlite"},
	{"sql/earlier-user-new-epoch", "internal/sql/sqladapter", "u.Epoch, u.SessionEpoch = rev.Seq, rev.Seq", "u.Epoch, u.SessionEpoch = 0, 0", "./internal/test/engine"},
	{"sql/was-epoch", "internal/sql/sqladapter", "(epoch != was.Epoch || u.Email", "(epoch < 0 || u.Email", "./adapter/sqlite"},
	{"sql/was-address", "internal/sql/sqladapter", "|| u.Email != was.Email ||", "||", "./adapter/sqlite"},
	{"sql/was-proved", "internal/sql/sqladapter", "|| !u.EmailVerified.Equal(was.EmailVerified)) {", ") {", "./adapter/sqlite"},
	{"sql/most", "internal/sql/sqladapter", "if n >= most {\n\t\t\treturn adapter.ErrTooMany", "if " + never + "n >= most {\n\t\t\treturn adapter.ErrTooMany", "./adapter/sqlite"},
	{"sql/version", "internal/sql/sqladapter", "case version != c.Version:", "case " + never + "version != c.Version:", "./adapter/sqlite"},
	{"sql/delete-of-another", "internal/sql/sqladapter", "if err == nil && c.UserID != userID {", "if " + never + "c.UserID != userID {", "./adapter/sqlite"},
	{"sql/pending-ends", "internal/sql/sqladapter", "a.deleteCredentialsOf, nil, userID, string(adapter.CredentialPending)", "a.deleteCredentialsOf, nil, userID, \"\"", "./adapter/sqlite"},
	{"mongodb/was-epoch", "adapter/mongodb", "was != nil && e.user != was.Epoch {", "was != nil && " + never + "e.user != was.Epoch {", "./adapter/mongodb"},
	{"mongodb/was-address", "adapter/mongodb", "append(filter, s.address(was.Email), verified)", "append(filter, verified)", "./adapter/mongodb"},
	{"mongodb/was-proved", "adapter/mongodb", "append(filter, s.address(was.Email), verified)", "append(filter, s.address(was.Email))", "./adapter/mongodb"},
	{"mongodb/most", "adapter/mongodb", "if len(used) >= most {", "if " + never + "len(used) >= most {", "./adapter/mongodb"},
	{"mongodb/version", "adapter/mongodb", "append(slices.Clone(key), bson.E{Key: \"version\", Value: c.Version}), credentialFields", "slices.Clone(key), credentialFields", "./adapter/mongodb"},
	{"redis/earlier-user", "adapter/redis/script", "if has_s then put_session(s) end\nrevoke(args(n + 1, 4))\n", "if has_s then put_session(s) end\n", "./adapter/redis"},
	{"redis/was-epoch", "adapter/redis/script", "(epoch_of(u[1]) ~= change.was_epoch or ", "(", "./adapter/redis"},
	{"redis/was-address", "adapter/redis/script", " or u[3] ~= change.was_email or ", " or ", "./adapter/redis"},
	{"redis/was-proved", "adapter/redis/script", " or u[4] ~= change.was_verified)", ")", "./adapter/redis"},
	{"redis/most", "adapter/redis/script", "if n >= tonumber(ARGV[13]) then return 'MANY' end\n", "", "./adapter/redis"},
	{"redis/version", "adapter/redis/script", "if old[6] ~= c[6] then return 'STALE' end\n", "", "./adapter/redis"},
	{"redis/tries", "adapter/redis/script", "if tonumber(c[7]) >= tonumber(ARGV[2]) then return 'CONFLICT' end\n", "", "./adapter/redis"},
	{"redis/delete-of-another", "adapter/redis/script", "if call('HGET', KEYS[1], 'user') ~= ARGV[4] then return 'NOTFOUND' end\n", "", "./adapter/redis"},
}
