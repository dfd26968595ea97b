package openapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc/docs"
)

const small = `# For its authors.
openapi: 3.1.1
servers:
  - url: http://localhost:3000
paths:
  /api/auth/session:
    get:
      responses:
        '200': {$ref: '#/components/responses/Shared'}
        '404': {$ref: '#/components/responses/Old'}
  /.well-known/oauth-authorization-server/api/auth: {}
  /healthz: {}
components:
  responses:
    Shared:
      content:
        application/json:
          schema:
            oneOf:
              - {x-modes: [none, next-auth-v4], type: object}
              - {x-modes: [authjs-v5], type: 'null'}
    Old: {$ref: '#/components/responses/Older'}
    Older: {x-modes: [next-auth-v4], description: Old.}
`

func TestFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"another path and mode": {Options{URL: "https://app.example.com/login", Mode: "authjs-v5"}, `openapi: 3.1.1
servers:
  - url: https://app.example.com
paths:
  /login/session:
    get:
      responses:
        '200': {$ref: '#/components/responses/Shared'}
  /.well-known/oauth-authorization-server/login: {}
  /healthz: {}
components:
  responses:
    Shared:
      content:
        application/json:
          schema:
            oneOf:
              - {type: 'null'}
`},
		"all modes": {Options{}, strings.TrimPrefix(small, "# For its authors.\n")},
	} {
		got, err := Fit([]byte(small), c.options)
		if diff := cmp.Diff(c.want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for _, broken := range []string{"", "- a", "a: [", "a"} {
		if got, err := Fit([]byte(broken), Options{}); err == nil {
			t.Errorf("%q became %s", broken, got)
		}
	}
	if _, err := Fit([]byte(small), Options{URL: "http://[::1"}); err == nil {
		t.Error("an invalid URL was accepted")
	}
}

// TestDocument checks that the document of each mode contains no x-modes and no
// dangling references.
func TestDocument(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"none", "next-auth-v4", "authjs-v5"} {
		got, err := Fit(docs.OpenAPI, Options{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		text := string(got)
		if strings.Contains(text, "x-modes") {
			t.Errorf("%s: x-modes is left", mode)
		}
		for rest := text; ; {
			_, after, found := strings.Cut(rest, "$ref: '#/components/")
			if !found {
				break
			}
			pointer, tail, _ := strings.Cut(after, "'")
			rest = tail
			if _, name, _ := strings.Cut(pointer, "/"); !strings.Contains(text, "\n    "+name+":") {
				t.Errorf("%s: %s leads nowhere", mode, pointer)
			}
		}
	}
}
