package provider_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/quiet"
	"authsvc/provider"
)

// made returns every provider of the table, with the example values of its options.
func made(t *testing.T) []authsvc.Provider {
	t.Helper()
	var list []authsvc.Provider
	for _, e := range provider.All() {
		options := map[string]string{}
		for _, o := range e.Options {
			if o.Required {
				options[o.Key] = o.Example
			}
		}
		p, err := e.New(authsvc.Client{ID: clientID, Secret: clientSecret}, options)
		if err != nil {
			t.Fatalf("%s: %v", e.ID, err)
		}
		list = append(list, p)
	}
	return list
}

// noNetwork is a network without hosts.
type noNetwork struct{ t *testing.T }

func (n noNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("a call to %s", r.URL.Host)
	return nil, errors.New("no network")
}

// TestAllAtOnce checks that all providers together start without a network call and
// without delay, and that GET providers lists each of them.
func TestAllAtOnce(t *testing.T) {
	list := made(t)
	best := time.Hour
	for range 3 {
		began := time.Now()
		s, err := engine.New(authsvc.Config{URL: origin, Secrets: []string{"0123456789abcdefghijklmnopqrstuvwxyz"}, Adapter: memory.New(),
			Providers: list, Outbound: authsvc.Outbound{DangerousTransport: noNetwork{t}}, Logger: slog.New(slog.DiscardHandler)})
		took := time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, took)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, origin+"/api/auth/providers", nil))
		var listed map[string]map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &listed); err != nil {
			t.Fatal(err)
		}
		for _, e := range provider.All() {
			v := listed[e.ID]
			if v["id"] != e.ID || v["name"] != cmp.Or(e.Button, e.Name) || v["signinUrl"] != origin+"/api/auth/signin/"+e.ID || v["callbackUrl"] != origin+"/api/auth/callback/"+e.ID {
				t.Errorf("%s: %v", e.ID, v)
			}
		}
		if len(listed) != len(list) {
			t.Errorf("%d providers are listed, %d configured", len(listed), len(list))
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d providers start in %v", len(list), best)
	if bound := 100 * time.Millisecond * raceFactor; quiet.Full && best > bound {
		t.Errorf("starting took %v, more than %v", best, bound)
	}
}

// TestButtonsCanBeRead checks that every button is legible: the contrast of its text is
// at least 4.5 (WCAG 2.2 §1.4.3) on its own colour, and so in light and dark mode.
func TestButtonsCanBeRead(t *testing.T) {
	t.Parallel()
	styles := 0
	for _, p := range made(t) {
		var id string
		var style authsvc.Style
		switch p := p.(type) {
		case *authsvc.OAuth:
			id, style = p.ID, p.Style
		case *authsvc.OAuth1:
			id, style = p.ID, p.Style
		case *authsvc.OpenID2:
			id, style = p.ID, p.Style
		}
		if style.Background == "" {
			continue // the page's own colours
		}
		styles++
		a, b := luminance(t, id, style.Background), luminance(t, id, style.Text)
		if contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05); contrast < 4.5 {
			t.Errorf("%s: %s on %s has contrast %.2f, which must be at least 4.5", id, style.Text, style.Background, contrast)
		}
	}
	if styles < 20 {
		t.Errorf("only %d providers have colours", styles)
	}
}

// luminance returns the relative luminance of #rrggbb,
// https://www.w3.org/TR/WCAG22/#dfn-relative-luminance.
func luminance(t *testing.T, id, colour string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(colour[1:], 16, 32)
	if err != nil || len(colour) != 7 {
		t.Fatalf("%s: colour %q", id, colour)
	}
	channel := func(shift int) float64 {
		v := float64(rgb>>shift&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}
