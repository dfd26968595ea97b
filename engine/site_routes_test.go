package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"authsvc/docs"
	"authsvc/engine/internal/fleet"
)

// TestEveryRouteHasATranscript: a transcript plays each route and method.
func TestEveryRouteHasATranscript(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	// Callbacks come back from the provider or the mail under these names.
	played := strings.NewReplacer("GET {back}", "GET /api/auth/callback/op", "GET {link}", "GET /api/auth/callback/email").Replace(all.String())
	for path, r := range (&Service{People: People{newStoreys(&fleet.Common{})}}).allRoutes() {
		p := strings.TrimSuffix("/api/auth/"+regexp.MustCompile(`:[a-z]+`).ReplaceAllString(path, `[a-zA-Z]+`), "/")
		for method, has := range map[string]bool{"GET": r.get != nil, "POST": r.post != nil} {
			if has && !regexp.MustCompile(`(?m)^> `+method+` `+p+`(\?|$)`).MatchString(played) {
				t.Errorf("%s /%s is in no transcript", method, path)
			}
		}
	}
}

// TestEveryRouteIsDescribed: docs/openapi.yaml has every route with its methods and
// what trusted origins may call, and no other routes. It also has the names of all
// Problems.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]struct {
			Get, Post, Head, Put, Patch, Delete, Options any
			CORS                                         bool   `yaml:"x-cors"`
			Only                                         string `yaml:"x-only"`
		}
		Components struct {
			Schemas struct {
				Problem struct {
					Properties struct {
						Type struct{ Enum []string }
					}
				} `yaml:"Problem"`
			}
		}
	}
	if err := yaml.Unmarshal(docs.OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	parameter := regexp.MustCompile(`:([a-z]+)`)
	described := map[string]bool{"/api/auth/style.{hash}.css": true, "/api/auth/icon.{hash}.svg": true} // see match
	for path, r := range (&Service{People: People{newStoreys(&fleet.Common{})}}).allRoutes() {
		name := strings.TrimSuffix("/api/auth/"+parameter.ReplaceAllString(path, "{$1}"), "/")
		described[name] = true
		p, there := doc.Paths[name]
		switch {
		case !there:
			t.Errorf("docs/openapi.yaml has no path %s", name)
		case (p.Get != nil) != (r.get != nil) || (p.Post != nil) != (r.post != nil):
			t.Errorf("%s: GET is described %t, POST %t; there are %t and %t", name, p.Get != nil, p.Post != nil, r.get != nil, r.post != nil)
		case p.Head != nil || p.Put != nil || p.Patch != nil || p.Delete != nil || p.Options != nil || p.Only != "":
			t.Errorf("%s: a method is described, or x-only, that is not there", name)
		case p.CORS != (r.cors != nil):
			t.Errorf("%s: x-cors is %t", name, p.CORS)
		}
	}
	for way, rt := range checkRoutes {
		names := []string{"/api/auth/gate/" + way}
		if rt.below {
			names = append(names, names[0]+"/{path}")
		}
		for _, name := range names {
			if described[name] = true; doc.Paths[name].Get == nil {
				t.Errorf("docs/openapi.yaml has no %s", name)
			}
		}
	}
	for name, p := range doc.Paths {
		if !described[name] && p.Only != "serve" {
			t.Errorf("docs/openapi.yaml has %s, which is not a route", name)
		}
	}
	want := []string{"about:blank"}
	for name := range problems {
		want = append(want, "urn:authsvc:problem:"+string(name))
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(doc.Components.Schemas.Problem.Properties.Type.Enum)); !slices.Equal(got, want) {
		t.Errorf("docs/openapi.yaml, types of Problem\nhas  %v\nwant %v", got, want)
	}
}
