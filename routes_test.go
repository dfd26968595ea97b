package authsvc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryRouteHasATranscript wants each route and method played.
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
	for path, r := range routes {
		p := strings.TrimSuffix("/api/auth/"+regexp.MustCompile(`:[a-z]+`).ReplaceAllString(path, `[a-zA-Z]+`), "/")
		for method, has := range map[string]bool{"GET": r.get != nil, "POST": r.post != nil} {
			if has && !regexp.MustCompile(`(?m)^> `+method+` `+p+`(\?|$)`).MatchString(played) {
				t.Errorf("%s /%s is in no transcript", method, path)
			}
		}
	}
}
