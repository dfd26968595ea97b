package engine

import (
	"encoding/base64"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/text"
)

// TestUserImage checks that a picture is an https address or a small raster image in a
// data: URL. Other values are left out.
func TestUserImage(t *testing.T) {
	t.Parallel()
	data := func(n int) string {
		return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(make([]byte, n))
	}
	for image, kept := range map[string]bool{
		"https://example.com/a.png":                 true,
		"http://example.com/a.png":                  false,
		data(1):                                     true,
		data(text.MaxPicture):                       true,
		data(text.MaxPicture + 100):                 false,
		"data:image/png;base64,AAAA":                true,
		"data:image/svg+xml;base64,AAAA":            false,
		"data:text/html;base64,AAAA":                false,
		"data:image/png,AAAA":                       false,
		"data:image/png;base64,<script>":            false,
		"data:image/png;base64,":                    false,
		"data:image/png;base64,AAAA\n":              false,
		"javascript:alert(1)":                       false,
		"x" + data(1):                               false,
		strings.Replace(data(1), "data", "DATA", 1): false,
	} {
		if got := cleanUser(authsvc.User{Image: image}, false).Image; (got != "") != kept || kept && got != image {
			t.Errorf("%.40q became %.40q", image, got)
		}
	}
}

// TestLocalImage checks that a service on this machine, as in development, takes
// pictures from servers on it. Other services do not, and no service takes http from
// elsewhere.
func TestLocalImage(t *testing.T) {
	t.Parallel()
	for image, kept := range map[string]bool{
		"http://127.0.0.1:3001/avatar/ada.svg": true,
		"http://localhost:3001/a.png":          true,
		"http://[::1]:3001/a.png":              true,
		"https://example.com/a.png":            true,
		"http://example.com/a.png":             false,
		"http://10.0.0.1/a.png":                false,
		"http://127.0.0.1@evil.example/a.png":  false,
		"javascript:alert(1)":                  false,
	} {
		if got := cleanUser(authsvc.User{Image: image}, true).Image; (got != "") != kept {
			t.Errorf("on this machine %q became %q", image, got)
		}
		if got := cleanUser(authsvc.User{Image: image}, false).Image; (got != "") != (kept && strings.HasPrefix(image, "https://")) {
			t.Errorf("elsewhere %q became %q", image, got)
		}
	}
	for origin, local := range map[string]bool{"http://localhost:3000": true, "http://127.0.0.1": true, "https://localhost": false, "http://app.internal": false, "": false} {
		if loopbackURL(origin) != local {
			t.Errorf("%q is local: %v", origin, !local)
		}
	}
}
