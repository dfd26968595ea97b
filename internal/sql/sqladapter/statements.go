package sqladapter

import "strings"

// Columns in the order in which they are scanned.
const (
	userColumns = `u.{User.id}, u.{User.name}, u.{User.email}, u.{User.emailVerified}, u.{User.image}`

	accountColumns = `{Account.id}, {Account.userId}, {Account.type}, {Account.provider}, ` +
		`{Account.providerAccountId}, {Account.refresh_token}, {Account.access_token}, ` +
		`{Account.expires_at}, {Account.token_type}, {Account.scope}, {Account.id_token}, {Account.session_state}`

	sessionColumns = `s.{Session.id}, s.{Session.sessionToken}, s.{Session.userId}, s.{Session.expires}, ` +
		`o.digest, o.auth_time, o.proved_at, o.provider, o.claims, ` + originColumns

	// cookieSessionColumns are the columns of a session that has only a row of ours.
	cookieSessionColumns = `o.user_id, o.expires, o.digest, o.auth_time, o.proved_at, o.provider, o.claims, ` + originColumns

	originColumns = `o.amr, o.second_at, o.seen, o.agent, o.network, o.client, o.actor`

	mailColumns       = `id, payload, due, expires, attempts`
	revocationColumns = `id, user_id, seq, not_before, expires`
)

// statements holds all statements that the adapter sends to the database.
type statements struct {
	userStatements
	peopleStatements
	sessionStatements
	tokenStatements
	ownStatements
	auditStatements
	groupStatements
	sweeps []*Statement // each: now, now, limit
}

func build(b *builder) statements {
	return statements{
		userStatements:    buildUsers(b),
		peopleStatements:  buildPeople(b),
		sessionStatements: buildSessions(b),
		tokenStatements:   buildTokens(b),
		ownStatements:     buildOwn(b),
		auditStatements:   buildAudit(b),
		groupStatements:   buildGroup(b),
		sweeps:            buildSweeps(b),
	}
}

// groupStatements holds the statements around a step in a shared transaction.
type groupStatements struct{ savepoint, rollbackTo, releaseSavepoint *Statement }

func buildGroup(b *builder) groupStatements {
	if !b.dialect.OneWriter {
		return groupStatements{}
	}
	return groupStatements{
		savepoint:        b.write(`SAVEPOINT step`),
		rollbackTo:       b.write(`ROLLBACK TO step`),
		releaseSavepoint: b.write(`RELEASE step`),
	}
}

// epochIs is a condition on the epoch of a user that an earlier statement of the step
// has locked. Its parameters are the user and the epoch.
const epochIs = `COALESCE((SELECT MAX(r.seq) FROM authsvc_revocation r WHERE r.user_id = ?), 0) = ?`

type userStatements struct {
	insertUser, getUser, getUserByEmail, getUserByAccount *Statement
	userByEmail                                           *Statement
	getEpoch, epochOf, epochsOf                           *Statement
	listUsers, listUsersAfter                             *Statement
	lockUser, updateUser, deleteUser                      *Statement
	insertAccount, refreshAccount, deleteAccount          *Statement
	holdUser                                              *Statement
	lockAccount, replaceTokens                            *Statement
	listAccounts, accountsOf, deleteAccountsOf            *Statement
	looseEmail, looseIdentity                             *Statement
}

func buildUsers(b *builder) userStatements {
	plain := `SELECT ` + b.userColumns() + ` FROM {User} u `
	const epoch = `SELECT COALESCE(MAX(seq), 0) FROM authsvc_revocation WHERE user_id = ?`
	user := `SELECT ` + b.userColumns() + `, ` + epochColumns(b.dialect) + ` FROM {User} u `
	const identity = ` WHERE {=Account.provider} AND {=Account.providerAccountId}`
	const tokens = `{Account.access_token} = ?, {Account.expires_at} = ?, {Account.token_type} = ?, {Account.scope} = ?, ` +
		`{Account.id_token} = ?, {Account.session_state} = ?`
	accounts := `SELECT ` + accountColumns + ` FROM {Account} WHERE {=Account.userId} ORDER BY {Account.provider}, `
	if b.traits.NoIDs["Account"] {
		accounts += `{Account.providerAccountId}`
	} else {
		accounts += `{Account.id}`
	}
	return userStatements{
		insertUser:     b.insert("User", `{User.id}, {User.name}, {User.email}, {User.emailVerified}, {User.image}`),
		getUser:        b.read(user + `WHERE {=u.User.id}`),
		getEpoch:       b.read(epoch),
		epochOf:        b.write(epoch),
		epochsOf:       b.write(`SELECT ` + epochColumns(b.dialect) + ` FROM {User} u WHERE {=u.User.id}`),
		getUserByEmail: b.read(user + `WHERE {=u.User.email}`),
		userByEmail:    b.write(user + `WHERE {=u.User.email}`),
		// SQLite compares as the left column does. The id compares byte for byte.
		getUserByAccount: b.read(user + `JOIN {Account} a ON u.{User.id} = a.{Account.userId} ` +
			`WHERE {=a.Account.provider} AND {=a.Account.providerAccountId}`),
		listUsers:      b.read(user + `ORDER BY u.{User.id} LIMIT ?`),
		listUsersAfter: b.read(user + `WHERE u.{User.id} > ? ORDER BY u.{User.id} LIMIT ?`),
		lockUser:       b.write(plain + `WHERE {=u.User.id}` + b.dialect.ForUpdate),
		updateUser: b.write(`UPDATE {User} SET {User.name} = ?, {User.email} = ?, {User.emailVerified} = ?, ` +
			`{User.image} = ? WHERE {=User.id}`),
		deleteUser: b.write(`DELETE FROM {User} WHERE {=User.id}`),

		insertAccount: b.insert("Account", accountColumns),
		lockAccount:   b.write(`SELECT ` + accountColumns + ` FROM {Account}` + identity + b.dialect.ForUpdate),
		replaceTokens: b.write(`UPDATE {Account} SET {Account.refresh_token} = ?, ` + tokens + identity),
		refreshAccount: b.write(`UPDATE {Account} SET {Account.refresh_token} = COALESCE(?, {Account.refresh_token}), ` + tokens +
			identity + ` AND {=Account.userId} AND ` + epochIs),
		holdUser:         b.write(`SELECT 1 FROM {User} u WHERE {=u.User.id}` + b.dialect.ForUpdate),
		deleteAccount:    b.write(`DELETE FROM {Account}` + identity + ` AND {=Account.userId}`),
		listAccounts:     b.read(accounts),
		accountsOf:       b.write(accounts),
		deleteAccountsOf: b.write(`DELETE FROM {Account} WHERE {=Account.userId}`),
		looseEmail:       b.write(`SELECT {User.email} FROM {User} WHERE {User.email} = ?`),
		looseIdentity:    b.write(`SELECT {Account.provider}, {Account.providerAccountId} FROM {Account} WHERE {Account.provider} = ? AND {Account.providerAccountId} = ?`),
	}
}

// epochColumns returns the columns for the epoch of the user u, the epoch of its
// sessions, the time when it was blocked, the time when it is to be deleted, and its
// locale.
func epochColumns(d *Dialect) string {
	of := `FROM authsvc_revocation r WHERE r.user_id = ` + d.IDText(`u.{User.id}`)
	person := ` FROM authsvc_person p WHERE p.user_id = u.{User.id}`
	return `COALESCE((SELECT MAX(r.seq) ` + of + `), 0), COALESCE((SELECT MAX(r.seq) ` + of + ` AND SUBSTR(r.id, 1, 5) = 'user:'), 0), ` +
		`(SELECT p.blocked` + person + `), (SELECT p.delete_after` + person + `), (SELECT p.locale` + person + `)`
}

// A sessionInserts holds the statements that store a session, with a row of ours alone
// if it lives in its cookie.
type sessionInserts struct{ session, own, cookie *Statement }

func (b *builder) sessionInserts(when string) sessionInserts {
	const own = `user_id, expires, auth_time, proved_at, provider, claims, amr, second_at, seen, agent, network, client, actor`
	return sessionInserts{
		session: b.insertWhen("Session", `{Session.id}, {Session.sessionToken}, {Session.userId}, {Session.expires}`, when),
		own:     b.write(b.insertText(`authsvc_session`, `digest, session_token, `+own, when)),
		cookie:  b.write(b.insertText(`authsvc_jwt_session`, `digest, `+own, when)),
	}
}

type sessionStatements struct {
	insertSession, insertSessionAt                sessionInserts // at an epoch: with its user and the epoch
	getSession                                    *Statement
	updateSession, updateOwnSession, sessionOwner *Statement
	lookSession, deleteSession, deleteSessionsOf  *Statement
	listSessions, looseSession                    *Statement
	listCookieSessions, lookCookieSession         *Statement
	deleteCookieSessionsOf, deleteCookieSession   *Statement
	updateCookieSession                           *Statement
	ownToken, touchSession, touchCookieSession    *Statement
}

func buildSessions(b *builder) sessionStatements {
	return sessionStatements{
		insertSession:   b.sessionInserts(``),
		insertSessionAt: b.sessionInserts(`{=u.User.id} AND ` + epochIs),
		// The second condition keeps a row of another session, if there is one, from
		// supplying its authentication time. It is not written with =, so that SQLite
		// finds the row by its key instead of the longer index over session_token.
		getSession: b.read(`SELECT s.{Session.id}, s.{Session.expires}, o.auth_time, o.proved_at, o.provider, o.claims, o.amr, o.second_at, o.actor, ` + b.userColumns() + ` FROM {Session} s ` +
			`JOIN {User} u ON u.{User.id} = s.{Session.userId} ` +
			`LEFT JOIN authsvc_session o ON o.digest = ? AND NOT (o.session_token <> s.{Session.sessionToken}) ` +
			`WHERE {=s.Session.sessionToken}`),
		updateSession: b.write(`UPDATE {Session} SET {Session.expires} = ? WHERE {=Session.sessionToken}`),
		updateOwnSession: b.write(`UPDATE authsvc_session SET expires = ?, auth_time = ?, proved_at = ?, provider = ? ` +
			`WHERE session_token = ?`),
		sessionOwner: b.write(`SELECT {Session.userId} FROM {Session} WHERE {=Session.sessionToken}`),
		lookSession: b.write(`SELECT ` + sessionColumns + ` FROM {Session} s ` +
			`LEFT JOIN authsvc_session o ON o.session_token = s.{Session.sessionToken} ` +
			`WHERE {=s.Session.sessionToken}`),
		listSessions: b.read(`SELECT ` + sessionColumns + ` FROM {Session} s ` +
			`LEFT JOIN authsvc_session o ON o.session_token = s.{Session.sessionToken} ` +
			`WHERE {=s.Session.userId}`),
		looseSession:     b.write(`SELECT {Session.sessionToken} FROM {Session} WHERE {Session.sessionToken} = ?`),
		deleteSession:    b.write(`DELETE FROM {Session} WHERE {=Session.sessionToken}`),
		deleteSessionsOf: b.write(`DELETE FROM {Session} WHERE {=Session.userId}`),

		listCookieSessions: b.read(`SELECT ` + cookieSessionColumns + ` FROM authsvc_jwt_session o ` +
			`JOIN {User} u ON u.{User.id} = o.user_id WHERE {=u.User.id}`),
		lookCookieSession:      b.write(`SELECT ` + cookieSessionColumns + ` FROM authsvc_jwt_session o WHERE o.digest = ?`),
		deleteCookieSessionsOf: b.write(`DELETE FROM authsvc_jwt_session WHERE user_id = ?`),
		deleteCookieSession:    b.write(`DELETE FROM authsvc_jwt_session WHERE digest = ?`),
		updateCookieSession:    b.write(`UPDATE authsvc_jwt_session SET expires = ?, auth_time = ?, proved_at = ?, provider = ? WHERE digest = ?`),
		ownToken:               b.write(`SELECT o.session_token, o.user_id FROM authsvc_session o WHERE o.digest = ?`),
		touchSession:           b.write(`UPDATE authsvc_session SET seen = ? WHERE digest = ? AND COALESCE(seen, 0) < ?`),
		touchCookieSession:     b.write(`UPDATE authsvc_jwt_session SET seen = ? WHERE digest = ? AND COALESCE(seen, 0) < ?`),
	}
}

type tokenStatements struct {
	getToken, looseToken                      *Statement
	insertToken, lockTokens, deleteToken      *Statement
	takeToken                                 *Statement // instead of the two before
	deleteLinks                               []*Statement
	countMail, insertMail, nextMail, markMail *Statement
	claimMail, delayMail, deleteMail          *Statement
	insertLink, holdQueue                     *Statement
}

func buildTokens(b *builder) tokenStatements {
	const byToken = ` FROM {VerificationToken} WHERE {=VerificationToken.identifier} AND {=VerificationToken.token}`
	const due = ` FROM authsvc_mail WHERE due <= ? ORDER BY due, id LIMIT 1`
	// A mail must find a place in the queue. An earlier statement locks the queue, so
	// that the count is correct.
	const insertToken = `INSERT INTO {VerificationToken} ({VerificationToken.identifier}, {VerificationToken.token}, {VerificationToken.expires}) ` +
		`SELECT ?, ?, ? FROM (SELECT COUNT(*) AS queued FROM authsvc_mail) x WHERE x.queued < ?`
	t := tokenStatements{
		getToken:    b.read(`SELECT {VerificationToken.expires}` + byToken),
		insertToken: b.write(insertToken),
		deleteLinks: b.deleteLinks(),
		looseToken:  b.write(`SELECT {VerificationToken.token} FROM {VerificationToken} WHERE {VerificationToken.token} = ?`),
		countMail:   b.write(`SELECT COUNT(*) FROM authsvc_mail`),
		insertMail:  b.write(`INSERT INTO authsvc_mail (` + mailColumns + `) VALUES (?, ?, ?, ?, ?)`),
		delayMail:   b.write(`UPDATE authsvc_mail SET due = ? WHERE id = ?`),
		deleteMail:  b.write(`DELETE FROM authsvc_mail WHERE id = ?`),
	}
	switch {
	case b.dialect.WritingCTE:
		t.takeToken = b.takeToken()
	case b.dialect.ForUpdate != "":
		t.lockTokens = b.write(`SELECT {VerificationToken.expires}, CASE WHEN {=VerificationToken.token} THEN 1 ELSE 0 END `+
			`FROM {VerificationToken} WHERE {=VerificationToken.identifier}`+b.dialect.ForUpdate).of(1, 0)
		t.deleteToken = b.write(`DELETE` + byToken)
	default:
		t.lockTokens = b.write(`SELECT {VerificationToken.expires}, 1` + byToken)
		t.deleteToken = b.write(`DELETE` + byToken)
	}
	if b.dialect.WritingCTE {
		t.insertLink = b.write(`WITH link AS (` + insertToken + ` RETURNING {VerificationToken.token}) ` +
			`INSERT INTO authsvc_mail (` + mailColumns + `) SELECT ?, ?, ?, ?, ? FROM link`)
	}
	if b.dialect.ForUpdate != "" {
		t.holdQueue = b.write(b.holdQueue())
	}
	if b.dialect.Returning {
		t.claimMail = b.write(`UPDATE authsvc_mail SET due = ?, attempts = attempts + 1 WHERE id = ` +
			`(SELECT id` + due + b.dialect.SkipLocked + `) RETURNING ` + mailColumns)
		return t
	}
	t.nextMail = b.write(`SELECT ` + mailColumns + due + b.dialect.SkipLocked)
	t.markMail = b.write(`UPDATE authsvc_mail SET due = ?, attempts = attempts + 1 WHERE id = ?`)
	return t
}

// holdQueue creates or updates a row of authsvc_meta, and thereby locks it.
func (b *builder) holdQueue() string {
	const insert = `INSERT INTO authsvc_meta (id, value) VALUES (?, ?) `
	if b.dialect.OnDuplicateKey {
		return insert + `ON DUPLICATE KEY UPDATE value = VALUES(value)`
	}
	return insert + `ON CONFLICT (id) DO UPDATE SET value = excluded.value`
}

// lockLinks begins a statement that locks all tokens of an identifier in one order
// before it deletes any. Its first parameters are those of more, then the identifier.
func (b *builder) lockLinks(more string) string {
	return `WITH link AS (SELECT v.{VerificationToken.token} AS token` + more + ` FROM {VerificationToken} v ` +
		`WHERE {=v.VerificationToken.identifier} ORDER BY v.{VerificationToken.token}` + b.dialect.ForUpdate + `), `
}

// takeToken does all of [Adapter.TakeToken]. It returns no row if there is no such
// token. Its parameters are the identifier, the token and the time.
func (b *builder) takeToken() *Statement {
	const deleted = ` IN (SELECT token FROM gone)`
	return b.write(b.lockLinks(`, v.{VerificationToken.expires} AS expires, ({=v.VerificationToken.token}) AS asked, v.{VerificationToken.expires} > ? AS alive`)+
		`taken AS (SELECT expires, alive FROM link WHERE asked), `+
		`gone AS (SELECT l.token FROM link l JOIN taken t ON l.asked OR t.alive), `+
		`mail AS (DELETE FROM authsvc_mail WHERE id`+deleted+`), `+
		`links AS (DELETE FROM {VerificationToken} WHERE {=VerificationToken.identifier} AND {VerificationToken.token}`+deleted+`) `+
		`SELECT t.expires, `+b.userColumns()+`, `+epochColumns(b.dialect)+` FROM taken t LEFT JOIN {User} u ON {=u.User.email}`).of(1, 2, 0, 0, 0)
}

// deleteLinks removes the tokens of an identifier and the mails that carry them. A
// single statement locks the tokens first, as [Adapter.TakeToken] does.
func (b *builder) deleteLinks() []*Statement {
	const links = `DELETE FROM {VerificationToken} WHERE {=VerificationToken.identifier}`
	switch {
	case b.dialect.WritingCTE:
		return []*Statement{b.write(b.lockLinks(``)+`mail AS (DELETE FROM authsvc_mail WHERE id IN (SELECT token FROM link)) `+
			links+` AND {VerificationToken.token} IN (SELECT token FROM link)`).of(0, 0)}
	case b.dialect.DeleteJoin:
		return []*Statement{b.write(`DELETE v, m FROM {VerificationToken} v LEFT JOIN authsvc_mail m ON m.id = v.{VerificationToken.token} ` +
			`WHERE {=v.VerificationToken.identifier}`)}
	}
	return []*Statement{b.write(`DELETE FROM authsvc_mail WHERE id IN (SELECT {VerificationToken.token} ` +
		`FROM {VerificationToken} WHERE {=VerificationToken.identifier})`), b.write(links)}
}

type ownStatements struct {
	insertOnce                                     *Statement
	revocation, permit, lease                      lockable
	ensureMeta                                     *Statement
	updateRevocation, takePermit, updatePermit     *Statement
	takePermits                                    map[int]*Statement // by the number of quotas
	raiseSequence, lookSequence, latestNumber, now *Statement
	updateLease, deleteLease                       *Statement
	listRevocations, getMeta, insertMeta, setMeta  *Statement
}

func buildOwn(b *builder) ownStatements {
	lock := func(table, columns, marks, read string) lockable {
		return lockable{
			ensure: b.write(b.dialect.insertMissing(table, columns, marks)),
			lock:   b.write(`SELECT ` + read + ` FROM ` + table + ` WHERE id = ?` + b.dialect.ForUpdate),
		}
	}
	own := ownStatements{
		revocation:       lock(`authsvc_revocation`, revocationColumns, `?, ?, ?, ?, ?`, revocationColumns),
		permit:           lock(`authsvc_permit`, `id, expires`, `?, ?`, `expires`),
		lease:            lock(`authsvc_lease`, `id, holder, expires`, `?, ?, ?`, `holder, expires`),
		ensureMeta:       b.write(b.dialect.insertMissing(`authsvc_meta`, `id, value`, `?, ?`)),
		insertOnce:       b.write(`INSERT INTO authsvc_once (id, expires) VALUES (?, ?)`),
		updateRevocation: b.write(`UPDATE authsvc_revocation SET user_id = ?, seq = ?, not_before = ?, expires = ? WHERE id = ?`),
		raiseSequence:    b.write(`UPDATE authsvc_sequence SET value = CASE WHEN value < ? THEN ? ELSE value + 1 END WHERE id = 'revocation'`),
		lookSequence:     b.write(`SELECT value FROM authsvc_sequence WHERE id = 'revocation'`),
		latestNumber:     b.read(`SELECT value FROM authsvc_sequence WHERE id = 'revocation'`),
		listRevocations: b.read(`SELECT ` + revocationColumns + ` FROM authsvc_revocation WHERE seq > ? ` +
			`ORDER BY seq LIMIT ?`),
		takePermit:   b.takePermit(),
		takePermits:  map[int]*Statement{},
		updatePermit: b.write(`UPDATE authsvc_permit SET expires = ? WHERE id = ?`),
		updateLease:  b.write(`UPDATE authsvc_lease SET holder = ?, expires = ? WHERE id = ?`),
		deleteLease:  b.write(`DELETE FROM authsvc_lease WHERE id = ? AND holder = ?`),
		getMeta:      b.write(`SELECT value FROM authsvc_meta WHERE id = ?`),
		insertMeta:   b.write(`INSERT INTO authsvc_meta (id, value) VALUES (?, ?)`),
		setMeta:      b.write(`UPDATE authsvc_meta SET value = ? WHERE id = ?`),
	}
	for n := 2; n <= maxQuotas; n++ {
		own.takePermits[n] = b.permits(n)
	}
	if b.dialect.Now != "" {
		own.now = b.read(b.dialect.Now)
	}
	return own
}

// sharedSweeps is the number of sweeps of shared tables, which come first.
const sharedSweeps = 2

// buildSweeps makes one bounded DELETE per kind of record.
func buildSweeps(b *builder) []*Statement {
	return []*Statement{
		b.sweep(`{Session}`, `{Session.sessionToken}`, b.dialect.timeExpr(`{Session.expires}`)),
		b.sweep(`{VerificationToken}`, `{VerificationToken.token}`, b.dialect.timeExpr(`{VerificationToken.expires}`)),
		b.sweep(`authsvc_mail`, `id`, `expires`),
		b.sweep(`authsvc_once`, `id`, `expires`),
		b.sweep(`authsvc_revocation`, `id`, `expires`),
		b.sweep(`authsvc_permit`, `id`, `expires`),
		b.sweep(`authsvc_lease`, `id`, `expires`),
		b.sweep(`authsvc_credential`, `kind, id`, `expires`),
		b.sweep(`authsvc_jwt_session`, `digest`, `expires`),
		// A program that deletes sessions without enforcing foreign keys leaves these
		// rows behind. The session, not this row, determines when it expires.
		b.sweep(`authsvc_session`, `digest`, `expires`, ` AND NOT EXISTS (SELECT 1 FROM {Session} s `+
			`WHERE s.{Session.sessionToken} = authsvc_session.session_token)`),
	}
}

// sweep deletes expired rows, the oldest first. If DELETE does not accept a limit, a
// subquery chooses them, and skips those that another step holds: waiting for one while
// holding others could deadlock. The condition is repeated outside, so that a record that
// was renewed in between stays.
func (b *builder) sweep(table, key, expires string, more ...string) *Statement {
	condition := expires + ` < ?` + strings.Join(more, "")
	if b.dialect.DeleteLimit {
		s := b.write(`DELETE FROM ` + table + ` WHERE ` + condition + ` ORDER BY ` + expires + ` LIMIT ?`)
		s.order = []int{0, 2}
		return s
	}
	in, of := func(query string) string { return `IN (` + query + `)` }, key
	if strings.Contains(key, ",") { // a key of several columns
		of = `(` + key + `)`
	} else if b.dialect.InSubquery != nil {
		in = b.dialect.InSubquery
	}
	return b.write(`DELETE FROM ` + table + ` WHERE ` + condition + ` AND ` + of + ` ` + in(`SELECT `+
		key+` FROM `+table+` WHERE `+condition+` ORDER BY `+expires+` LIMIT ?`+b.dialect.SkipLocked))
}
