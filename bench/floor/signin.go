package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/smtp"
	"net/url"
	"strings"
	"text/template"
	"time"

	"authsvc/internal/seal"
)

// A step is one statement, prepared by a database, with its arguments.
type step struct {
	text string
	args []any
	into []any // columns of its only row; nil: rows are read and dropped
}

// A database runs steps, one alone or several in a transaction.
type database interface {
	run(ctx context.Context, s step) error
	transact(ctx context.Context, steps ...step) error
	// moment returns a time in the form of the shared tables.
	moment(t time.Time) any
}

// The statements of a first sign-in, as adapters write them. Ids are in angle
// brackets because PostgreSQL compares them as text. Statements that the service
// could omit are missing: rows that only serialize writers, and claims of a mail that
// is sent immediately.
const (
	selectUser = `SELECT u."id", u."name", u."email", u."emailVerified", u."image", ` +
		`COALESCE((SELECT MAX(r.seq) FROM authsvc_revocation r WHERE r.user_id = <u."id">), 0), ` +
		`COALESCE((SELECT MAX(r.seq) FROM authsvc_revocation r WHERE r.user_id = <u."id"> AND SUBSTR(r.id, 1, 5) = 'user:'), 0) FROM "User" u `
	userByEmail   = selectUser + `WHERE u."email" = ?`
	userByAccount = selectUser + `JOIN "Account" a ON a."userId" = u."id" WHERE a."provider" = ? AND a."providerAccountId" = ?`

	countMails   = `SELECT COUNT(*) FROM authsvc_mail`
	insertToken  = `INSERT INTO "VerificationToken" ("identifier", "token", "expires") VALUES (?, ?, ?)`
	insertMail   = `INSERT INTO authsvc_mail (id, payload, due, expires, attempts) VALUES (?, ?, ?, ?, ?)`
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

// postgresText returns a statement for PostgreSQL.
func postgresText(text string) string {
	text = strings.NewReplacer("<u.", "CAST(u.", `">`, `" AS TEXT) COLLATE "C"`).Replace(text)
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
	return strings.NewReplacer("<u.", "u.", `">`, `"`).Replace(text)
}

// The written values are about as large as those that a service must store.
var (
	sealedMail  = bytes.Repeat([]byte("m"), 620)
	sealedToken = strings.Repeat("t", 104)
	sealedProof = strings.Repeat("p", 580)
)

// signIns serves the routes of whole sign-ins with only the necessary statements, the
// mail and the token request.
type signIns struct {
	db       database
	mail     string // address of the mail server
	provider *provider
}

// splitNeighbours splits the location of a sign-in floor into its database, the
// address of its mail server, and its provider.
func splitNeighbours(location string) (db, mail string, p *provider, err error) {
	part := strings.Fields(location)
	if len(part) != 3 {
		return "", "", nil, errors.New("the location of a sign-in floor must name a database, a mail server and a provider")
	}
	return part[0], part[1], newProvider(part[2]), nil
}

func (s signIns) handler() http.Handler {
	mux := http.NewServeMux()
	token := []byte(`{"csrfToken":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}`)
	mux.HandleFunc("GET /api/auth/csrf", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, token) })
	mux.HandleFunc("POST /api/auth/signin/email", s.sendLink)
	mux.HandleFunc("GET /api/auth/callback/email", s.openLink)
	mux.HandleFunc("POST /api/auth/signin/op", s.redirectToProvider)
	mux.HandleFunc("GET /api/auth/callback/op", s.comeBack)
	mux.HandleFunc("GET /api/auth/session", s.session)
	return mux
}

// answer writes the answer, or an error.
func answer(w http.ResponseWriter, body string, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, []byte(body))
}

// inTurn runs steps in order until one fails.
func (s signIns) inTurn(ctx context.Context, steps ...step) error {
	for _, one := range steps {
		if err := s.db.run(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// letter is the mail that contains a link.
var letter = template.Must(template.New("").Parse("From: {{.From}}\r\nTo: {{.To}}\r\nSubject: Sign in to {{.Host}}\r\nDate: {{.Date}}\r\nMessage-ID: <{{.ID}}@{{.Host}}>\r\n" +
	"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nSign in to {{.Host}}:\r\n\r\n{{.Link}}\r\n\r\nThe link works once, for {{.Minutes}} minutes.\r\n"))

const sender = "no-reply@signin.example"

// send sends a link over a new SMTP connection.
func (s signIns) send(host, address, link string) error {
	var b bytes.Buffer
	err := letter.Execute(&b, map[string]any{"From": sender, "To": address, "Host": host, "Link": link,
		"Date": time.Now().Format(time.RFC1123Z), "ID": rand.Text(), "Minutes": 10})
	if err != nil {
		return err
	}
	return smtp.SendMail(s.mail, nil, sender, []string{address}, b.Bytes())
}

// sendLink stores a link and its mail, sends the mail, and deletes it from the queue.
func (s signIns) sendLink(w http.ResponseWriter, r *http.Request) {
	ctx, address, now := r.Context(), r.PostFormValue("email"), time.Now()
	token, ms := tokenFor(address), now.UnixMilli()
	err := s.db.run(ctx, step{text: userByEmail, args: []any{address}})
	if err == nil {
		err = s.db.transact(ctx,
			step{text: countMails},
			step{text: insertToken, args: []any{address, token, s.db.moment(now.Add(10 * time.Minute))}},
			step{text: insertMail, args: []any{token, sealedMail, ms, ms + 600_000, 0}})
	}
	if err == nil {
		err = s.send(r.Host, address, "http://"+r.Host+"/api/auth/callback/email?email="+url.QueryEscape(address))
	}
	if err == nil {
		err = s.db.run(ctx, step{text: deleteMail, args: []any{token}})
	}
	answer(w, `{"url":"/verify-request"}`, err)
}

// tokenFor returns the stored token of the link for an address.
func tokenFor(address string) string { return "link-of-" + address }

func (s signIns) openLink(w http.ResponseWriter, r *http.Request) {
	ctx, address := r.Context(), r.FormValue("email")
	err := s.db.transact(ctx, step{text: takeToken, args: []any{address, tokenFor(address)}}, step{text: userByEmail, args: []any{address}},
		step{text: deleteMails, args: []any{address}}, step{text: deleteTokens, args: []any{address}})
	s.arrive(w, r, "email", idToken{Email: address, Name: "Person"}, err)
}

// redirectToProvider redirects a person to the provider. It seals nothing.
func (s signIns) redirectToProvider(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, []byte(`{"url":"`+s.provider.issuer+"/authorize?"+url.Values{
		"redirect_uri": {"http://" + r.Host + "/api/auth/callback/op"}, "state": {rand.Text()}, "nonce": {rand.Text()},
	}.Encode()+`"}`))
}

func (s signIns) comeBack(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	person, err := s.provider.exchange(ctx, r.FormValue("code"))
	if err == nil {
		err = s.inTurn(ctx,
			step{text: useOnce, args: []any{"tx:" + r.FormValue("state"), time.Now().Add(16 * time.Minute).UnixMilli()}},
			step{text: userByAccount, args: []any{"op", person.Sub}},
			step{text: userByEmail, args: []any{person.Email}},
			step{text: lookIssuer, args: []any{"issuer:op"}})
	}
	s.arrive(w, r, "op", person, err)
}

// arrive signs a person up unless there was an error.
func (s signIns) arrive(w http.ResponseWriter, r *http.Request, provider string, person idToken, err error) {
	token, steps := s.create(person, provider)
	if err == nil {
		err = s.db.transact(r.Context(), steps...)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Set-Cookie", sessionCookie+"="+token)
	h.Set("Location", "/")
	w.WriteHeader(http.StatusFound)
}

// create returns the steps that create a user and a session, and an account if there
// is a provider.
func (s signIns) create(person idToken, provider string) (token string, steps []step) {
	now := time.Now()
	token, id := "sha256:"+rand.Text(), seal.UUIDv7()
	steps = []step{{text: createUser, args: []any{id, person.Name, person.Email, s.db.moment(now), nil}}}
	if provider != "email" {
		steps = append(steps, step{text: linkAccount, args: []any{seal.UUIDv7(), id, "oauth", provider, person.Sub, nil, sealedToken, now.Unix(),
			"Bearer", "openid email profile", sealedProof, nil}})
	}
	end := now.Add(30 * 24 * time.Hour)
	return token, append(steps,
		step{text: insertShared, args: []any{seal.UUIDv7(), token, id, s.db.moment(end)}},
		step{text: insertOwn, args: []any{token[len("sha256:"):], token, id, end.UnixMilli(), now.UnixMilli(), provider}})
}

// session reads everything that the service needs about a session.
func (s signIns) session(w http.ResponseWriter, r *http.Request) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		writeJSON(w, []byte("{}"))
		return
	}
	var user sessionUser
	var id, token, userID, digest, provider string
	var expires, verified any
	var authTime int64
	err = s.db.run(r.Context(), step{text: wholeSession, args: []any{strings.TrimPrefix(c.Value, "sha256:"), c.Value},
		into: []any{&id, &token, &userID, &expires, &digest, &authTime, &provider, &user.ID, &user.Name, &user.Email, &verified, &user.Image}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	end, ok := expires.(time.Time)
	if !ok { // SQLite stores numbers
		ms, _ := expires.(int64)
		end = time.UnixMilli(ms)
	}
	writeSession(w, user, end)
}
