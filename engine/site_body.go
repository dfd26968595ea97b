package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"authsvc"
)

// maxBody is the largest body of any POST, in bytes.
const maxBody = 64 << 10

// A body holds the fields of a POST. Each field occurs once.
type body struct {
	fields map[string]string
	other  map[string]bool // members of a JSON body that are not strings
	data   any             // the member "data" of a JSON body
}

func (b *body) get(name string) string {
	if b == nil {
		return ""
	}
	return b.fields[name]
}

var errDuplicate = errors.New("a field is given twice")

// readBody parses the body of a POST. It reads only the two media types that browsers
// and clients of the interface send. Anything else is answered with an error status,
// and nothing happens.
func readBody(rq *request) outcome {
	r := rq.r
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isForm, isJSON := media == "application/x-www-form-urlencoded", media == "application/json"
	charset := strings.ToLower(params["charset"])
	if err != nil || len(r.Header["Content-Type"]) != 1 || !isForm && !isJSON ||
		charset != "" && charset != "utf-8" || len(r.Header["Content-Encoding"]) > 0 {
		return problem{status: http.StatusUnsupportedMediaType,
			text: "send application/x-www-form-urlencoded or application/json in UTF-8, not encoded"}
	}
	if r.ContentLength > maxBody {
		return problem{status: http.StatusRequestEntityTooLarge, text: "the body is larger than 64 KiB"}
	}
	raw, out := rawBody(rq)
	if out != nil {
		return out
	}
	b := &body{}
	if isForm {
		b.fields, err = parseForm(string(raw))
	} else {
		err = b.parseJSON(raw)
	}
	if err != nil {
		if values, _ := url.ParseQuery(string(raw)); isForm {
			rq.asksJSON = values.Get("json") == "true"
		}
		return problem{status: http.StatusBadRequest, text: "cannot read the body: " + err.Error()}
	}
	rq.body = b
	return nil
}

// rawBody reads the bytes of the body. If the request will be refused and too many such
// requests are being read, it does not read the body.
func rawBody(rq *request) ([]byte, outcome) {
	var leave func()
	var ok bool
	if toBeRefused(rq) {
		if leave, ok = rq.bodies.tryAcquireRefused(); !ok {
			return nil, refusedUnread(rq)
		}
	} else if leave, ok = rq.bodies.acquire(rq.ctx, rq.networkKey()); !ok {
		rq.retryAfter = bodySlotWait
		rq.audit("request.limited", authsvc.CodeRateLimited, "too many request bodies in progress")
		return nil, problem{status: http.StatusServiceUnavailable, text: "too many requests in progress, try again"}
	}
	defer leave()
	raw, err := io.ReadAll(io.LimitReader(rq.r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, problem{status: http.StatusBadRequest, text: "the body ended early"}
	case len(raw) > maxBody:
		return nil, problem{status: http.StatusRequestEntityTooLarge, text: "the body is larger than 64 KiB"}
	}
	return raw, nil
}

// refusedUnread answers a request that is refused whatever its body is.
func refusedUnread(rq *request) outcome {
	if rq.unrouted {
		return problem{status: http.StatusNotFound, text: "not found"}
	}
	if !rq.route.isForeign(rq) && !rq.sameSite() {
		return refuseCrossSite(rq)
	}
	return rq.limited(bodySlotWait)
}

// toBeRefused checks origin and rate before the body is read. It does not refuse by
// itself, since the body may ask for a JSON answer. The callback of a form_post
// provider comes from another site and is not refused for that.
func toBeRefused(rq *request) bool {
	if rq.unrouted {
		return true
	}
	if l := rq.route.limitOf(rq); l != nil && l.Over(rq.clientKey(), rq.now) {
		return true
	}
	return !rq.route.isForeign(rq) && !rq.sameSite()
}

func parseForm(raw string) (map[string]string, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errors.New("bad form encoding")
	}
	fields := make(map[string]string, len(values))
	for name, v := range values {
		if len(v) != 1 {
			return nil, errDuplicate
		}
		if !utf8.ValidString(name) || !utf8.ValidString(v[0]) {
			return nil, errors.New("not UTF-8")
		}
		fields[name] = v[0]
	}
	return fields, nil
}

// parseJSON reads one object. Only members that are strings become fields.
func (b *body) parseJSON(raw []byte) error {
	b.fields = map[string]string{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if !utf8.Valid(raw) {
		return errors.New("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("not a JSON object")
	}
	b.other = map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return errors.New("not a JSON object")
		}
		if _, text := b.fields[name]; text || b.other[name] {
			return errDuplicate
		}
		var v any
		if err := dec.Decode(&v); err != nil {
			return errors.New("not a JSON object")
		}
		if s, ok := v.(string); ok {
			b.fields[name] = s
		} else {
			b.other[name] = true
		}
		if name == "data" {
			b.data = v
		}
	}
	if _, err := dec.Token(); err != nil {
		return errors.New("not a JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the JSON object")
	}
	return nil
}

// Limits on the request bodies that this process reads at the same time, against
// clients that start thousands and finish none.
const (
	maxBodies        = 1024 // at once
	maxBodiesOfOne   = 64   // per client
	maxBodiesRefused = 64   // of requests that will be refused; their bodies only say in which form
	bodySlotWait     = 5 * time.Second
)

// bodySlots counts the bodies that are being read.
type bodySlots struct {
	all, refused *semaphore.Weighted

	mu      sync.Mutex
	clients map[string]*clientSlots
}

type clientSlots struct {
	places *semaphore.Weighted
	users  int // requests that have a slot or wait for one
}

func newBodySlots() *bodySlots {
	return &bodySlots{all: semaphore.NewWeighted(maxBodies), refused: semaphore.NewWeighted(maxBodiesRefused), clients: map[string]*clientSlots{}}
}

// acquire waits up to bodySlotWait for a slot. If ok is true, leave releases it.
func (b *bodySlots) acquire(ctx context.Context, client string) (leave func(), ok bool) {
	// A client that has disconnected may have sent the whole request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bodySlotWait)
	defer cancel()
	one := b.client(client)
	if one.places.Acquire(ctx, 1) != nil {
		b.release(client, one)
		return nil, false
	}
	if b.all.Acquire(ctx, 1) != nil {
		one.places.Release(1)
		b.release(client, one)
		return nil, false
	}
	return func() {
		b.all.Release(1)
		one.places.Release(1)
		b.release(client, one)
	}, true
}

// tryAcquireRefused acquires a slot for a request that will be refused. It does not
// wait.
func (b *bodySlots) tryAcquireRefused() (leave func(), ok bool) {
	return func() { b.refused.Release(1) }, b.refused.TryAcquire(1)
}

func (b *bodySlots) client(key string) *clientSlots {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.clients[key]
	if one == nil {
		one = &clientSlots{places: semaphore.NewWeighted(maxBodiesOfOne)}
		b.clients[key] = one
	}
	one.users++
	return one
}

func (b *bodySlots) release(key string, one *clientSlots) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(b.clients, key)
	}
}
