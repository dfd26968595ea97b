package authsvc

import (
	"encoding/base64"
	"strings"
	"testing"
)

// A picture is an https address, or a small raster image in a data: URL;
// anything else is left out.
func TestUserImage(t *testing.T) {
	t.Parallel()
	data := func(n int) string {
		return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(make([]byte, n))
	}
	for image, kept := range map[string]bool{
		"https://example.com/a.png":                 true,
		"http://example.com/a.png":                  false,
		data(1):                                     true,
		data(maxPicture):                            true,
		data(maxPicture + 100):                      false,
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
		if got := cleanUser(User{Image: image}).Image; (got != "") != kept || kept && got != image {
			t.Errorf("%.40q became %.40q", image, got)
		}
	}
}
