// Package exchange records the requests of tests and their answers, so that
// tools/openapi can compare them with docs/openapi.yaml. It records only if
// AUTHSVC_EXCHANGES names a folder.
package exchange

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// An Exchange holds one request and its answer.
type Exchange struct {
	From          string // name of the test
	Mode          string // value of compat
	Method        string
	URL           string
	RequestHeader http.Header
	RequestBody   []byte `json:",omitempty"`
	Status        int
	Header        http.Header
	Body          []byte `json:",omitempty"`
}

// On reports whether exchanges are recorded.
func On() bool { return os.Getenv("AUTHSVC_EXCHANGES") != "" }

// A Recorder writes the exchanges of one test to its own file.
type Recorder struct {
	from, mode string
	mu         sync.Mutex
	all        []Exchange
}

// New returns a recorder for a service with the given value of compat; empty means
// none. It writes the file when the test ends.
func New(t testing.TB, mode string) *Recorder {
	t.Helper()
	if mode == "" {
		mode = "none"
	}
	r := &Recorder{from: t.Name(), mode: mode}
	if On() {
		t.Cleanup(func() {
			if err := r.write(os.Getenv("AUTHSVC_EXCHANGES")); err != nil {
				t.Error(err)
			}
		})
	}
	return r
}

// Transport records the requests that pass to next, and their answers.
func (r *Recorder) Transport(next func(*http.Request) (*http.Response, error)) func(*http.Request) (*http.Response, error) {
	if !On() {
		return next
	}
	return func(q *http.Request) (*http.Response, error) {
		e, err := r.begin(q)
		if err != nil {
			return nil, err
		}
		res, err := next(q)
		if err != nil {
			return nil, err
		}
		e.Status, e.Header = res.StatusCode, res.Header.Clone()
		e.Body, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(e.Body))
		r.add(e)
		return res, err
	}
}

// Handler records the answers of next. An answer must end: it is passed on only when
// complete.
func (r *Recorder) Handler(next http.Handler) http.Handler {
	if !On() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		e, err := r.begin(q)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		kept := httptest.NewRecorder()
		next.ServeHTTP(kept, q)
		e.Status, e.Header, e.Body = kept.Code, kept.Result().Header, kept.Body.Bytes()
		if q.Method == http.MethodHead { // as net/http does
			e.Body = nil
		}
		r.add(e)
		for name, values := range e.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(e.Status)
		_, _ = w.Write(e.Body)
	})
}

// begin reads the request, which can then be read again.
func (r *Recorder) begin(q *http.Request) (Exchange, error) {
	e := Exchange{From: r.from, Mode: r.mode, Method: q.Method, URL: q.URL.String(), RequestHeader: q.Header.Clone()}
	if q.Body == nil || q.Body == http.NoBody {
		return e, nil
	}
	body, err := io.ReadAll(q.Body)
	q.Body, e.RequestBody = io.NopCloser(bytes.NewReader(body)), body
	return e, err
}

func (r *Recorder) add(e Exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

func (r *Recorder) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, strings.ReplaceAll(filepath.ToSlash(r.from), "/", "-")+"-*.jsonl")
	if err != nil {
		return err
	}
	defer f.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	enc := json.NewEncoder(f)
	for _, e := range r.all {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return nil
}
