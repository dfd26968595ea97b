package idp

import (
	"errors"
	"net/http"
	"strings"
)

var errCancelled = &oauthError{code: "access_denied", description: "the person cancelled"}

// newcomer is the form for a new person as it was filled in, and what was
// wrong with it.
type newcomer struct {
	Name, Email string
	Verified    bool
	Problem     string
	Tried       bool // whether the problem is with this form
}

// choose serves the POST of the page. The authorization request is in the
// query, as the page repeats it, and is checked again from the start.
func (p *Provider) choose(f face) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// A foreign site must not click for the person in front of the screen.
		if p.origin.Check(r) != nil {
			p.showError(w, http.StatusForbidden, &pageError{message: "This form was sent from another site."})
			return
		}
		if err := r.ParseForm(); err != nil {
			p.showError(w, bodyStatus(err), &pageError{message: "The form could not be read."})
			return
		}
		req, err := p.readAuthRequest(f, r.URL.Query())
		if err != nil {
			p.refuse(w, req, err)
			return
		}
		p.act(w, r, req)
	}
}

// act does what the clicked button says.
func (p *Provider) act(w http.ResponseWriter, r *http.Request, req *authRequest) {
	switch {
	case r.PostForm.Has("cancel"):
		p.send(w, p.deny(req, errCancelled))
	case r.PostForm.Has("person"):
		person, ok := p.personBySub(r.PostForm.Get("person"))
		if !ok {
			p.showPicker(w, http.StatusBadRequest, req, newcomer{Problem: "This person is not on the list."})
			return
		}
		p.send(w, p.approve(req, person))
	case r.PostForm.Has("add"):
		p.welcome(w, r, req)
	default:
		p.showPicker(w, http.StatusBadRequest, req, newcomer{Problem: "Choose a person."})
	}
}

// welcome adds the person of the form and signs them in.
func (p *Provider) welcome(w http.ResponseWriter, r *http.Request, req *authRequest) {
	form := newcomer{
		Name:     strings.TrimSpace(r.PostForm.Get("name")),
		Email:    strings.TrimSpace(r.PostForm.Get("email")),
		Verified: r.PostForm.Has("verified"),
		Tried:    true,
	}
	person, err := p.AddPerson(Person{
		Name: form.Name, Email: form.Email, EmailVerified: form.Verified && form.Email != "",
	})
	if err == nil {
		p.send(w, p.approve(req, person))
		return
	}
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, errName), errors.Is(err, errEmail), errors.Is(err, errPeopleFull):
		form.Problem = sentence(err.Error())
	default: // the store failed; the cause may name a path of the machine
		status, form.Problem = http.StatusInternalServerError, "The person could not be saved."
	}
	p.showPicker(w, status, req, form)
}

// sentence turns an error text into one.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// bodyStatus returns the status for a form that could not be read.
func bodyStatus(err error) int {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

func asOAuthError(err error) (*oauthError, bool) {
	var protocol *oauthError
	ok := errors.As(err, &protocol)
	return protocol, ok
}
