// Command floor does the minimum that a route of authsvc must do. Its cost is the
// price of net/http, the cipher, the driver and the database, without an
// authentication service. Command bench runs it.
package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite"
)

// floors maps names to functions that create handlers. location is a secret, a file
// or a URL. For sign-ins, a mail server and a provider follow, separated by spaces.
var floors = map[string]func(ctx context.Context, location string) (http.Handler, error){
	"http":     fixedJSON,
	"jwe":      oneJWE,
	"sqlite":   oneSelectSQLite,
	"postgres": oneSelectPostgres,
	"redis":    oneScriptRedis,

	"gate-jwe":      gateJWE,
	"gate-sqlite":   gateSQLite,
	"gate-postgres": gatePostgres,
	"page":          onePage,
	"proxy":         bareProxy,

	"signin-sqlite":   signInsSQLite,
	"signin-postgres": signInsPostgres,
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: floor NAME ADDRESS LOCATION")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// serve serves one floor at addr until a signal ends the process.
func serve(name, addr, location string) error {
	start, ok := floors[name]
	if !ok {
		return fmt.Errorf("unknown floor %q", name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	h, err := start(ctx, location)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

const (
	sessionCookie = "authsvc.session"
	jweCookie     = "next-auth.session-token"
)

func writeJSON(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "private, no-cache, no-store")
	w.Write(body)
}

func fixedJSON(context.Context, string) (http.Handler, error) {
	body := []byte(`{"csrfToken":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}`)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, body) }), nil
}

type sessionUser struct {
	Name  *string `json:"name"`
	Email *string `json:"email"`
	Image *string `json:"image"`
	ID    string  `json:"id,omitempty"` // not in compat modes
}

type sessionBody struct {
	User    sessionUser `json:"user"`
	Expires string      `json:"expires"`
}

func writeSession(w http.ResponseWriter, u sessionUser, expires time.Time) {
	body, err := json.Marshal(sessionBody{u, expires.UTC().Format("2006-01-02T15:04:05.000Z")})
	if err != nil {
		http.Error(w, "{}", http.StatusInternalServerError)
		return
	}
	writeJSON(w, body)
}

// jweClaims holds the claims of a NextAuth.js 4 JWE.
type jweClaims struct {
	Sub                  string
	Name, Email, Picture *string
	Exp                  int64
}

// opener decrypts JWEs of NextAuth.js 4: dir and A256GCM. It derives the key once.
func opener(secret string) (func(*http.Request) (jweClaims, bool), error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "NextAuth.js Generated Encryption Key", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return func(r *http.Request) (claims jweClaims, ok bool) {
		c, err := r.Cookie(jweCookie)
		if err != nil {
			return claims, false
		}
		part := strings.Split(c.Value, ".")
		if len(part) != 5 {
			return claims, false
		}
		iv, err1 := base64.RawURLEncoding.DecodeString(part[2])
		text, err2 := base64.RawURLEncoding.DecodeString(part[3])
		tag, err3 := base64.RawURLEncoding.DecodeString(part[4])
		if errors.Join(err1, err2, err3) != nil || len(iv) != gcm.NonceSize() {
			return claims, false
		}
		plain, err := gcm.Open(nil, iv, append(text, tag...), []byte(part[0]))
		if err != nil {
			return claims, false
		}
		err = json.Unmarshal(plain, &claims)
		return claims, err == nil && claims.Exp >= time.Now().Unix()
	}, nil
}

// oneJWE decrypts a JWE and answers with its session.
func oneJWE(_ context.Context, secret string) (http.Handler, error) {
	open, err := opener(secret)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims, ok := open(r)
		if !ok {
			writeJSON(w, []byte("{}"))
			return
		}
		writeSession(w, sessionUser{Name: claims.Name, Email: claims.Email, Image: claims.Picture}, time.Unix(claims.Exp, 0))
	}), nil
}

// tokenOf returns the token of a session cookie in the form that authsvc stores.
func tokenOf(r *http.Request) string {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(c.Value))
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

const selectSession = `SELECT u.id, u.name, u.email, u.image, s.expires FROM "Session" s JOIN "User" u ON u.id = s."userId" WHERE s."sessionToken" = `

func oneSelectSQLite(ctx context.Context, file string) (http.Handler, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=mmap_size(2147418112)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	statement, err := db.PrepareContext(ctx, selectSession+"?")
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var u sessionUser
		var expires int64
		if err := statement.QueryRowContext(r.Context(), tokenOf(r)).Scan(&u.ID, &u.Name, &u.Email, &u.Image, &expires); err != nil {
			writeJSON(w, []byte("{}"))
			return
		}
		writeSession(w, u, time.UnixMilli(expires))
	}), nil
}

// openPool opens as many connections as the service does.
func openPool(ctx context.Context, location string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(location)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(location, "pool_max_conns") {
		config.MaxConns = 10
	}
	return pgxpool.NewWithConfig(ctx, config)
}

func oneSelectPostgres(ctx context.Context, location string) (http.Handler, error) {
	pool, err := openPool(ctx, location)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var u sessionUser
		var expires time.Time
		if err := pool.QueryRow(r.Context(), selectSession+"$1", tokenOf(r)).Scan(&u.ID, &u.Name, &u.Email, &u.Image, &expires); err != nil {
			writeJSON(w, []byte("{}"))
			return
		}
		writeSession(w, u, expires)
	}), nil
}
