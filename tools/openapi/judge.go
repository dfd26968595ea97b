package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// everywhere lists headers that the document's description covers or that the server
// adds.
var everywhere = []string{"X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Strict-Transport-Security",
	"Cache-Control", "Pragma", "Expires", "Vary", "Content-Type", "Content-Length", "Content-Encoding", "Date", "Connection",
	"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Transfer-Encoding"}

// base is the path prefix of the document's routes.
const base = "/api/auth"

// onPages lists the headers of pages.
var onPages = []string{"Content-Security-Policy", "X-Frame-Options", "Cross-Origin-Opener-Policy", "Permissions-Policy"}

// judge returns the parts of an exchange that the document does not describe, and
// records what it covers.
func (d *document) judge(e exchange, s *seen) (mistakes []string) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil // not a request that a client can send
	}
	p := d.find(u.EscapedPath())
	switch {
	case p == nil && !strings.HasPrefix(u.EscapedPath(), base+"/"): // a program behind the gate
		return nil
	case p == nil:
		return d.judgeUnknown(e)
	case !slices.Contains(p.methods(), e.Method):
		return d.judgeMethod(e, p)
	}
	d.noteParameters(e, u, p, s)
	a := d.answer(p, e.Method, fmt.Sprint(e.Status))
	if a == nil {
		return []string{fmt.Sprintf("%d is not described", e.Status)}
	}
	media, _, _ := mime.ParseMediaType(e.Header.Get("Content-Type"))
	content, described := a.content[media].(object)
	switch {
	case len(a.content) == 0 && len(e.Body) == 0:
		media = ""
	case !described:
		return []string{fmt.Sprintf("%d with %q is not described: %.100s", e.Status, media, e.Body)}
	}
	s.answers[d.mark(a.key, media)] = true
	if mistakes = d.judgeQuery(e, u, p); len(mistakes) > 0 {
		return mistakes
	}
	if mistakes = d.judgeHeaders(e, a, media, s); len(mistakes) > 0 {
		return mistakes
	}
	return d.judgeBody(e, p, media, content)
}

// judgeUnknown checks that an undescribed path does not exist.
func (d *document) judgeUnknown(e exchange) []string {
	want := http.StatusNotFound
	if d.mode != "none" {
		want = http.StatusBadRequest
	}
	if e.Status != want && e.Status != http.StatusMisdirectedRequest {
		return []string{fmt.Sprintf("the path is not described, and answered %d", e.Status)}
	}
	return nil
}

// judgeMethod checks that an undescribed method is refused with a list of the
// described ones, or that the request is a preflight of a route that pages of trusted
// origins may call.
func (d *document) judgeMethod(e exchange, p *path) []string {
	if e.Method == http.MethodOptions && e.Status == http.StatusNoContent {
		if p.item["x-cors"] != true {
			return []string{"a preflight is answered, but the path has no x-cors"}
		}
		return nil
	}
	if d.mode != "none" && e.Status == http.StatusBadRequest {
		return nil
	}
	allow := strings.Join(p.methods(), ", ")
	if e.Status != http.StatusMethodNotAllowed || e.Header.Get("Allow") != allow {
		return []string{fmt.Sprintf("the method is not described, and answered %d with Allow: %s; described are %s", e.Status, e.Header.Get("Allow"), allow)}
	}
	return nil
}

// noteParameters records the parameters of a request.
func (d *document) noteParameters(e exchange, u *url.URL, p *path, s *seen) {
	note := func(in, name string) { s.shown[fmt.Sprintf("%s %s with %s %s", e.Method, p.template, in, name)] = true }
	for name := range u.Query() {
		note("query", name)
	}
	for _, one := range d.parameters(p, e.Method) {
		if in, name, _ := strings.Cut(one, " "); in == "header" && e.RequestHeader.Get(name) != "" {
			note(in, name)
		}
	}
	var members map[string]any
	if json.Unmarshal(e.RequestBody, &members) != nil {
		form, _ := url.ParseQuery(string(e.RequestBody))
		for name := range form {
			note("body", name)
		}
	}
	for name := range members {
		note("body", name)
	}
}

// judgeQuery checks that the document describes the query parameters of every
// accepted GET. The query of POST signin belongs to the provider.
func (d *document) judgeQuery(e exchange, u *url.URL, p *path) (mistakes []string) {
	if e.Method != http.MethodGet || e.Status >= http.StatusBadRequest {
		return nil
	}
	described := d.parameters(p, e.Method)
	for name := range u.Query() {
		if !slices.Contains(described, "query "+name) {
			mistakes = append(mistakes, fmt.Sprintf("the parameter %s is not described", name))
		}
	}
	return mistakes
}

// judgeHeaders checks that an answer has all described headers and no others.
func (d *document) judgeHeaders(e exchange, a *answer, media string, s *seen) (mistakes []string) {
	for name := range e.Header {
		described := slices.ContainsFunc(slices.Collect(keys(a.headers)), func(h string) bool { return strings.EqualFold(h, name) })
		if !described && !slices.Contains(everywhere, name) && !(media == "text/html" && slices.Contains(onPages, name)) {
			mistakes = append(mistakes, fmt.Sprintf("%d with the header %s is not described", e.Status, name))
		}
	}
	for name, v := range a.headers {
		switch h, _ := d.resolve(v); {
		case len(e.Header.Values(name)) > 0:
			s.shown[a.owner+" with "+name] = true
		case h["required"] == true:
			mistakes = append(mistakes, fmt.Sprintf("%d lacks the header %s", e.Status, name))
		}
	}
	return mistakes
}

// judgeBody validates the body against the schema.
func (d *document) judgeBody(e exchange, p *path, media string, content object) []string {
	if !strings.HasSuffix(media, "json") {
		schema, _ := d.resolve(content["schema"])
		if text, fixed := schema["const"].(string); fixed && text != string(e.Body) {
			return []string{fmt.Sprintf("%d with the body %q, which is described as %q", e.Status, e.Body, text)}
		}
		return nil
	}
	q, err := http.NewRequest(e.Method, "http://localhost:3000"+p.template, nil)
	if err != nil {
		return []string{err.Error()}
	}
	res := &http.Response{StatusCode: e.Status, Header: e.Header, Body: io.NopCloser(bytes.NewReader(e.Body)), Request: q}
	if err := d.validBody(p, q, res); err != nil {
		return []string{fmt.Sprintf("%d: %v: %.200s", e.Status, strings.ReplaceAll(err.Error(), "\n", "; "), e.Body)}
	}
	return nil
}

func keys(o object) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range o {
			if !yield(name) {
				return
			}
		}
	}
}
