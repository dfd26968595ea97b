package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const small = `openapi: 3.1.1
info: {title: Small, version: '1'}
paths:
  /api/auth/session:
    x-cors: true
    get:
      parameters:
        - {name: q, in: query, schema: {type: string}}
      responses:
        '200':
          description: Fine.
          headers: {ETag: {required: true, schema: {type: string}}}
          content:
            application/json: {schema: {$ref: '#/components/schemas/Answer'}}
        '404': {$ref: '#/components/responses/NotFound'}
    post:
      requestBody:
        content:
          application/json: {schema: {type: object, properties: {b: {type: string}}}}
      responses:
        '302': {description: On.}
        '404': {$ref: '#/components/responses/NotFound'}
  /api/auth/error/{code}:
    parameters:
      - {name: code, in: path, required: true, schema: {type: string}}
    get:
      responses:
        '200':
          description: Fine.
          content:
            text/plain: {schema: {type: string, const: ok}}
components:
  responses:
    NotFound:
      x-modes: [none]
      description: None.
      content:
        text/plain: {schema: {type: string}}
  schemas:
    Answer:
      type: object
      required: [a]
      properties: {a: {type: integer}}
      additionalProperties: false
`

func one(mode, method, target string, status int, body string, header ...string) exchange {
	e := exchange{From: "Test", Mode: mode, Method: method, URL: "http://localhost" + target, Status: status, Header: http.Header{}}
	if body != "" {
		e.Body = []byte(body)
	}
	for i := 0; i < len(header); i += 2 {
		e.Header.Set(header[i], header[i+1])
	}
	return e
}

// good returns exchanges that cover the whole document.
func good() (all []exchange) {
	const session, media = "/api/auth/session", "Content-Type"
	for _, mode := range modes {
		posted := one(mode, "POST", session, 302, "")
		posted.RequestBody = []byte(`{"b":"x"}`)
		all = append(all, posted, one(mode, "GET", session+"?q=1", 200, `{"a":1}`, media, "application/json; charset=utf-8", "Etag", "x"),
			one(mode, "GET", "/api/auth/error/x", 200, "ok", media, "text/plain"), one(mode, "OPTIONS", session, 204, ""))
	}
	return append(all, one("none", "GET", session, 404, "no", media, "text/plain"), one("none", "GET", "/nothing", 404, "no"),
		one("none", "DELETE", session, 405, "no", "Allow", "GET, POST"), one("authjs-v5", "DELETE", session, 400, "no"))
}

func compare(t *testing.T, all []exchange) []string {
	t.Helper()
	dir := t.TempDir()
	document := filepath.Join(dir, "openapi.yaml")
	if err := os.WriteFile(document, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "x.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	enc := json.NewEncoder(f)
	for _, e := range all {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	mistakes, _, err := run(document, []string{dir}, false)
	if err != nil {
		t.Fatal(err)
	}
	return mistakes
}

// TestBothWays checks that complete exchanges pass, and that every difference is
// reported.
func TestBothWays(t *testing.T) {
	t.Parallel()
	if mistakes := compare(t, good()); len(mistakes) > 0 {
		t.Fatalf("%q", mistakes)
	}
	const media, json = "Content-Type", "application/json"
	for want, e := range map[string]exchange{
		"500 is not described":             one("none", "GET", "/api/auth/session", 500, "x", media, "text/plain"),
		"404 is not described":             one("authjs-v5", "GET", "/api/auth/session", 404, "no", media, "text/plain"),
		`200 with "text/html" is not`:      one("none", "GET", "/api/auth/session", 200, "x", media, "text/html", "Etag", "x"),
		"302 with \"\" is not described":   one("none", "POST", "/api/auth/session", 302, "a body"),
		"the parameter r is not described": one("none", "GET", "/api/auth/error/x?r=1", 200, "ok", media, "text/plain"),
		"with the header X-New":            one("none", "POST", "/api/auth/session", 302, "", "X-New", "x"),
		"lacks the header ETag":            one("none", "GET", "/api/auth/session", 200, `{"a":1}`, media, json),
		"got string, want integer":         one("none", "GET", "/api/auth/session", 200, `{"a":"1"}`, media, json, "Etag", "x"),
		"additional properties 'b' not":    one("none", "GET", "/api/auth/session", 200, `{"a":1,"b":2}`, media, json, "Etag", "x"),
		`described as "ok"`:                one("none", "GET", "/api/auth/error/x", 200, "oh", media, "text/plain"),
		"the path is not described":        one("none", "GET", "/api/auth/new", 200, "x"),
		"answered 400":                     one("none", "GET", "/api/auth/new", 400, "x"),
		"the method is not described":      one("none", "DELETE", "/api/auth/session", 200, ""),
		"with Allow: GET; described":       one("none", "DELETE", "/api/auth/session", 405, "", "Allow", "GET"),
		"but the path has no x-cors":       one("none", "OPTIONS", "/api/auth/error/x", 204, ""),
	} {
		if mistakes := compare(t, append(good(), e)); len(mistakes) != 1 || !strings.Contains(mistakes[0], want) {
			t.Errorf("%s: %q", want, mistakes)
		}
	}
	for i, want := range map[int]string{0: "compat none: no exchange shows POST /api/auth/session 302", 2: "compat none: no exchange shows GET /api/auth/error/{code} 200 text/plain",
		12: "compat none: no exchange shows NotFound 404 text/plain"} {
		all := good()
		if mistakes := compare(t, append(all[:i:i], all[i+1:]...)); len(mistakes) != 1 || mistakes[0] != want {
			t.Errorf("without %d: %q, want %q", i, mistakes, want)
		}
	}
	all := good()
	for i := range all {
		all[i].URL = strings.TrimSuffix(all[i].URL, "?q=1")
		all[i].RequestBody = nil
	}
	want := "no exchange shows GET /api/auth/session with query q; no exchange shows POST /api/auth/session with body b"
	if mistakes := compare(t, all); strings.Join(mistakes, "; ") != want {
		t.Errorf("parameters: %q", mistakes)
	}
}

// TestInvalidDocument checks that an invalid document is refused.
func TestInvalidDocument(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{strings.Replace(small, "title: Small, ", "", 1), strings.Replace(small, "in: query", "in: nowhere", 1), "a: ["} {
		if _, err := newDocument([]byte(broken), "none"); err == nil {
			t.Errorf("taken: %.200s", broken)
		}
	}
}

// TestSlashes checks that a parameter may contain slashes only where the path says
// so.
func TestSlashes(t *testing.T) {
	t.Parallel()
	const template = "  /api/auth/error/{code}:\n"
	for text, want := range map[string]bool{small: false, strings.Replace(small, template, template+"    x-slashes: true\n", 1): true} {
		d, err := newDocument([]byte(text), "none")
		if err != nil {
			t.Fatal(err)
		}
		if got := d.find("/api/auth/error/a/b") != nil; got != want {
			t.Errorf("a path with slashes is found: %v, want %v", got, want)
		}
		if d.find("/api/auth/error/a") == nil {
			t.Error("a path without slashes is not found")
		}
	}
}
