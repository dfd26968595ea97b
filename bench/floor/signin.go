package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"authsvc/internal/uuid"
)

// A step is one statement with its arguments, which a database prepared.
type step struct {
	text string
	args []any
}

// A database runs steps: alone, or all of them in a transaction. Rows are read
// and dropped.
type database interface {
	run(ctx context.Context, s step) error
	transact(ctx context.Context, steps ...step) error
	// moment is a time as the shared tables have it.
	moment(t time.Time) any
}

// The statements of a first sign-in, as adapters write them. What only
// PostgreSQL has is in square brackets, ids are in angle ones.
const (
	selectUser = `SELECT u."id", u."name", u."email", u."emailVerified", u."image", ` +
		`COALESCE((SELECT MAX(r.seq) FROM authsvc_revocation r WHERE r.user_id = <u."id">), 0), ` +
		`COALESCE((SELECT MAX(r.seq) FROM authsvc_revocation r WHERE r.user_id = <u."id"> AND SUBSTR(r.id, 1, 5) = 'user:'), 0) FROM "User" u `
	userByEmail   = selectUser + `WHERE u."email" = ?`
	userByAccount = selectUser + `JOIN "Account" a ON a."userId" = u."id" WHERE a."provider" = ? AND a."providerAccountId" = ?`

	ensureQueue  = `INSERT INTO authsvc_meta (id, value) VALUES (?, ?) ON CONFLICT DO NOTHING`
	lockQueue    = `SELECT value FROM authsvc_meta WHERE id = ?[ FOR UPDATE]`
	countMails   = `SELECT COUNT(*) FROM authsvc_mail`
	insertToken  = `INSERT INTO "VerificationToken" ("identifier", "token", "expires") VALUES (?, ?, ?)`
	insertMail   = `INSERT INTO authsvc_mail (id, payload, due, expires, attempts) VALUES (?, ?, ?, ?, ?)`
	claimMail    = `UPDATE authsvc_mail SET due = ?, attempts = attempts + 1 WHERE id = (SELECT id FROM authsvc_mail WHERE due <= ? ORDER BY due, id LIMIT 1[ FOR UPDATE SKIP LOCKED]) RETURNING id, payload, due, expires, attempts`
	deleteMail   = `DELETE FROM authsvc_mail WHERE id = ?`
	takeToken    = `DELETE FROM "VerificationToken" WHERE "identifier" = ? AND "token" = ? RETURNING "expires"`
	deleteMails  = `DELETE FROM authsvc_mail WHERE id IN (SELECT "token" FROM "VerificationToken" WHERE "identifier" = ?)`
	deleteTokens = `DELETE FROM "VerificationToken" WHERE "identifier" = ?`

	useOnce      = `INSERT INTO authsvc_once (id, expires) VALUES (?, ?)`
	lookIssuer   = `SELECT value FROM authsvc_meta WHERE id = ?`
	createUser   = `INSERT INTO "User" ("id", "name", "email", "emailVerified", "image") VALUES (?, ?, ?, ?, ?)`
	linkAccount  = `INSERT INTO "Account" ("id", "userId", "type", "provider", "providerAccountId", "refresh_token", "access_token", "expires_at", "token_type", "scope", "id_token", "session_state") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertShared = `INSERT INTO "Session" ("id", "sessionToken", "userId", "expires") VALUES (?, ?, ?, ?)`
	insertOwn    = `INSERT INTO authsvc_session (digest, session_token, user_id, expires, auth_time, provider) VALUES (?, ?, ?, ?, ?, ?)`
	wholeSession = `SELECT s."id", s."sessionToken", s."userId", s."expires", o.digest, o.auth_time, o.provider, u."id", u."name", u."email", u."emailVerified", u."image" ` +
		`FROM "Session" s JOIN "User" u ON u."id" = s."userId" LEFT JOIN authsvc_session o ON o.digest = ? AND NOT (o.session_token <> s."sessionToken") WHERE s."sessionToken" = ?`
)

// postgresText is a statement for PostgreSQL; SQLite drops what is in brackets.
func postgresText(text string) string {
	text = strings.NewReplacer("[", "", "]", "", "<u.", "CAST(u.", `">`, `" AS TEXT) COLLATE "C"`).Replace(text)
	for n := '1'; strings.Contains(text, "?"); n++ {
		number := string(n)
		if n > '9' {
			number = "1" + string(n-10)
		}
		text = strings.Replace(text, "?", "$"+number, 1)
	}
	return text
}

func sqliteText(text string) string {
	for {
		before, rest, ok := strings.Cut(text, "[")
		if !ok {
			return strings.NewReplacer("<u.", "u.", `">`, `"`).Replace(text)
		}
		_, after, _ := strings.Cut(rest, "]")
		text = before + after
	}
}

// What is written: about as much as the service writes.
var (
	sealedMail  = bytes.Repeat([]byte("m"), 620)
	sealedToken = strings.Repeat("t", 104)
	sealedProof = strings.Repeat("p", 580)
)

// signIns are the routes of whole sign-ins, with nothing but their statements.
type signIns struct{ db database }

func (s signIns) handler() http.Handler {
	mux := http.NewServeMux()
	token := []byte(`{"csrfToken":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}`)
	mux.HandleFunc("GET /api/auth/csrf", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, token) })
	mux.HandleFunc("POST /api/auth/signin/email", s.sendLink)
	mux.HandleFunc("GET /api/auth/callback/email", s.openLink)
	mux.HandleFunc("POST /api/auth/signin/op", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, []byte(`{"url":"/"}`)) })
	mux.HandleFunc("GET /api/auth/callback/op", s.comeBack)
	mux.HandleFunc("GET /api/auth/session", s.session)
	return mux
}

// answer answers unless something failed.
func answer(w http.ResponseWriter, body string, errs ...error) {
	for _, err := range errs {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	writeJSON(w, []byte(body))
}

// sendLink stores a link and its mail, and takes the mail out again. Nothing is
// sent.
func (s signIns) sendLink(w http.ResponseWriter, r *http.Request) {
	ctx, address, now := r.Context(), r.PostFormValue("email"), time.Now()
	token, ms := tokenFor(address), now.UnixMilli()
	answer(w, `{"url":"/verify-request"}`,
		s.db.run(ctx, step{userByEmail, []any{address}}),
		s.db.transact(ctx,
			step{ensureQueue, []any{"mail queue", ""}},
			step{lockQueue, []any{"mail queue"}},
			step{countMails, nil},
			step{insertToken, []any{address, token, s.db.moment(now.Add(10 * time.Minute))}},
			step{insertMail, []any{token, sealedMail, ms, ms + 600_000, 0}}),
		s.db.run(ctx, step{claimMail, []any{ms + 90_000, ms}}),
		s.db.run(ctx, step{deleteMail, []any{token}}))
}

// tokenFor is what is stored of the link for an address.
func tokenFor(address string) string { return "link-of-" + address }

func (s signIns) openLink(w http.ResponseWriter, r *http.Request) {
	ctx, address := r.Context(), r.FormValue("email")
	err := s.db.run(ctx, step{takeToken, []any{address, tokenFor(address)}})
	if err == nil {
		err = s.db.transact(ctx, step{deleteMails, []any{address}}, step{deleteTokens, []any{address}})
	}
	if err == nil {
		err = s.db.run(ctx, step{userByEmail, []any{address}})
	}
	token, steps := s.create(address, "email")
	if err == nil {
		err = s.db.transact(ctx, steps...)
	}
	arrived(w, token, err)
}

func (s signIns) comeBack(w http.ResponseWriter, r *http.Request) {
	ctx, address, now := r.Context(), r.FormValue("email"), time.Now()
	var err error
	for _, one := range []step{
		{useOnce, []any{"tx:" + address, now.Add(16 * time.Minute).UnixMilli()}},
		{userByAccount, []any{"op", address}},
		{userByEmail, []any{address}},
		{lookIssuer, []any{"issuer:op"}},
	} {
		if err == nil {
			err = s.db.run(ctx, one)
		}
	}
	token, steps := s.create(address, "op")
	if err == nil {
		err = s.db.transact(ctx, steps...)
	}
	arrived(w, token, err)
}

// create makes a user and a session, and with a provider an account.
func (s signIns) create(address, provider string) (token string, steps []step) {
	now := time.Now()
	token, id := "sha256:"+rand.Text(), uuid.V7()
	steps = []step{{createUser, []any{id, "Person", address, s.db.moment(now), nil}}}
	if provider != "email" {
		steps = append(steps, step{linkAccount, []any{uuid.V7(), id, "oauth", provider, address, nil, sealedToken, now.Unix(),
			"Bearer", "openid email profile", sealedProof, nil}})
	}
	end := now.Add(30 * 24 * time.Hour)
	return token, append(steps,
		step{insertShared, []any{uuid.V7(), token, id, s.db.moment(end)}},
		step{insertOwn, []any{token[len("sha256:"):], token, id, end.UnixMilli(), now.UnixMilli(), provider}})
}

func arrived(w http.ResponseWriter, token string, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Set-Cookie", sessionCookie+"="+token)
	h.Set("Location", "/")
	w.WriteHeader(http.StatusFound)
}

func (s signIns) session(w http.ResponseWriter, r *http.Request) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		writeJSON(w, []byte("{}"))
		return
	}
	digest := strings.TrimPrefix(c.Value, "sha256:")
	answer(w, `{"user":{"name":"Person","email":"visitor@signin.example","image":null},"expires":"2026-12-23T04:49:47.504Z"}`,
		s.db.run(r.Context(), step{wholeSession, []any{digest, c.Value}}))
}
