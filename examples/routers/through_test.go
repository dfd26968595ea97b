package routers_test

import (
	"net/http"
	"net/http/httptest"
)

// through is a transport that answers every request with a handler.
type through struct{ http.Handler }

// RoundTrip answers r.
func (h through) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	in := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), nil)
	in.Header = r.Header
	h.ServeHTTP(w, in)
	return w.Result(), nil
}
