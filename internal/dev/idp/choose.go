package idp

import (
	"errors"
	"net/http"
	"strings"
)

var errCancelled = &oauthError{code: "access_denied", description: "the person cancelled"}

// newcomer is the submitted form for a new person, with the problem in it.
type newcomer struct {
	Name, Email string
	Verified    bool
	Problem     string
	Tried       bool // the problem is in this form
}

// choose serves the POST of the page. The page repeats the authorization request in the
// query; choose checks it again completely.
func (p *Provider) choose(f face) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// Another site must not submit the form for the person.
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

// act performs the action of the clicked button.
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

// welcome adds the person of the form and signs the person in.
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
	default: // the store failed; the cause may contain a local path
		status, form.Problem = http.StatusInternalServerError, "The person could not be saved."
	}
	p.showPicker(w, status, req, form)
}

// sentence turns an error text into a sentence.
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
