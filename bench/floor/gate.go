package main

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// passed writes the headers of an answer to a proxy's gate check: they tell who the
// user is.
func passed(w http.ResponseWriter, r *http.Request, id, email, name string) {
	h := w.Header()
	h.Set("Cookie", otherCookies(r))
	h.Set("Authorization", r.Header.Get("Authorization")) // the gate takes its own tokens out
	h.Set("X-Auth-User-Id", id)
	h.Set("X-Auth-Email", email)
	h.Set("X-Auth-Name", strings.ReplaceAll(name, " ", "%20"))
	h.Set("X-Auth-Groups", "")
	h.Set("Vary", "Cookie")
	h.Set("Cache-Control", "private, no-cache, no-store")
	h.Set("Expires", "0")
	h.Set("Pragma", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusOK)
}

// otherCookies returns the cookies of the program behind the gate.
func otherCookies(r *http.Request) string {
	var others []string
	for _, line := range r.Header["Cookie"] {
		for part := range strings.SplitSeq(line, ";") {
			name, _, _ := strings.Cut(strings.TrimSpace(part), "=")
			if name != sessionCookie && name != jweCookie {
				others = append(others, strings.TrimSpace(part))
			}
		}
	}
	return strings.Join(others, "; ")
}

// asked reports whether a proxy says which request it asks about.
func asked(r *http.Request) bool {
	return r.Header.Get("X-Forwarded-Method") != "" && r.Header.Get("X-Forwarded-Host") != "" && strings.HasPrefix(r.Header.Get("X-Forwarded-Uri"), "/")
}

func gateJWE(_ context.Context, secret string) (http.Handler, error) {
	open, err := opener(secret)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims, ok := open(r)
		if !ok || !asked(r) || claims.Name == nil {
			readyOrRefused(w, r)
			return
		}
		passed(w, r, claims.Sub, "", *claims.Name) // NextAuth.js does not tell whether an address is verified
	}), nil
}

// readyOrRefused answers the readiness check of the parent program.
func readyOrRefused(w http.ResponseWriter, r *http.Request) {
	if asked(r) {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

const selectPerson = `SELECT u.id, u.name, CASE WHEN u."emailVerified" IS NULL THEN '' ELSE u.email END, s.expires FROM "Session" s JOIN "User" u ON u.id = s."userId" WHERE s."sessionToken" = `

func gateSQLite(ctx context.Context, file string) (http.Handler, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=mmap_size(2147418112)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	statement, err := db.PrepareContext(ctx, selectPerson+"?")
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var id, name, email string
		var expires int64
		if err := statement.QueryRowContext(r.Context(), tokenOf(r)).Scan(&id, &name, &email, &expires); err != nil || !asked(r) || time.UnixMilli(expires).Before(time.Now()) {
			readyOrRefused(w, r)
			return
		}
		passed(w, r, id, email, name)
	}), nil
}

func gatePostgres(ctx context.Context, location string) (http.Handler, error) {
	pool, err := openPool(ctx, location)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var id, name, email string
		var expires time.Time
		if err := pool.QueryRow(r.Context(), selectPerson+"$1", tokenOf(r)).Scan(&id, &name, &email, &expires); err != nil || !asked(r) || expires.Before(time.Now()) {
			readyOrRefused(w, r)
			return
		}
		passed(w, r, id, email, name)
	}), nil
}

// onePage serves a page of 1 KB.
func onePage(context.Context, string) (http.Handler, error) {
	page := []byte(strings.Repeat("0123456789abcdef", 64))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(page) }), nil
}

// bareProxy passes all requests on.
func bareProxy(_ context.Context, location string) (http.Handler, error) {
	to, err := url.Parse(location)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{MaxIdleConns: 100, MaxIdleConnsPerHost: 100}}, nil
}
