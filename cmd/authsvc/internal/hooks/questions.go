package hooks

import (
	"context"
	"encoding/json"

	"authsvc/internal/seal/sessionshape"
)

// Kinds of questions.
const (
	SignIn      = "sign_in"
	Claims      = "claims"
	CreateUser  = "create_user"
	Credentials = "credentials"
)

// Kinds returns the kinds that the list of hooks may have.
func Kinds() []string { return []string{SignIn, Claims, CreateUser} }

// AskSignIn asks whether a user may sign in. With a refusal, the answer may have an
// address to redirect the user to.
func (h *Hook) AskSignIn(ctx context.Context, data any) (allow bool, redirect string, err error) {
	answer, err := h.Ask(ctx, SignIn, data, "allow", "redirect")
	if err != nil {
		return false, "", err
	}
	allow, err = verdict(answer)
	if err != nil {
		return false, "", err
	}
	to, there := answer["redirect"]
	redirect, isText := to.(string)
	switch {
	case there && !isText:
		return false, "", errTypes
	case allow && there: // contradicts itself
		return false, "", errMembers
	}
	return allow, redirect, nil
}

// AskClaims asks for the claims to keep with a session.
func (h *Hook) AskClaims(ctx context.Context, data any) (map[string]any, error) {
	answer, err := h.Ask(ctx, Claims, data, "claims")
	if err != nil {
		return nil, err
	}
	claims, ok := answer["claims"].(map[string]any)
	if !ok {
		return nil, errTypes
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		return nil, err
	}
	return sessionshape.Decode(string(raw)), nil
}

// A Person is the user in an answer.
type Person struct {
	ID, Name, Email, Image string
	EmailVerified          bool

	HasName, HasImage bool
}

// AskCreateUser asks whether a user may be stored, and for another name and image.
func (h *Hook) AskCreateUser(ctx context.Context, data any) (allow bool, p Person, err error) {
	return h.askPerson(ctx, CreateUser, data, "name", "image")
}

// AskCredentials asks who the user with these fields is. If the answer allows the user,
// it must contain an ID.
func (h *Hook) AskCredentials(ctx context.Context, data any) (allow bool, p Person, err error) {
	allow, p, err = h.askPerson(ctx, Credentials, data, "id", "name", "email", "email_verified", "image")
	if err == nil && allow && p.ID == "" {
		return false, Person{}, errMembers
	}
	return allow, p, err
}

// askPerson asks for a verdict and for a user with these members.
func (h *Hook) askPerson(ctx context.Context, kind string, data any, members ...string) (allow bool, p Person, err error) {
	answer, err := h.Ask(ctx, kind, data, "allow", "user")
	if err != nil {
		return false, Person{}, err
	}
	if allow, err = verdict(answer); err != nil {
		return false, Person{}, err
	}
	of, there := answer["user"]
	if !there {
		return allow, Person{}, nil
	}
	user, ok := of.(map[string]any)
	if !ok {
		return false, Person{}, errTypes
	}
	if err := onlyMembers(user, members...); err != nil {
		return false, Person{}, err
	}
	p, err = person(user)
	return allow && err == nil, p, err
}

func person(user map[string]any) (p Person, err error) {
	for name, into := range map[string]*string{"id": &p.ID, "name": &p.Name, "email": &p.Email, "image": &p.Image} {
		v, there := user[name]
		text, ok := v.(string)
		if there && !ok {
			return Person{}, errTypes
		}
		*into = text
		p.HasName, p.HasImage = p.HasName || there && name == "name", p.HasImage || there && name == "image"
	}
	if v, there := user["email_verified"]; there {
		verified, ok := v.(bool)
		if !ok {
			return Person{}, errTypes
		}
		p.EmailVerified = verified
	}
	return p, nil
}

// verdict returns the member allow, which is required.
func verdict(answer map[string]any) (bool, error) {
	v, there := answer["allow"]
	allow, ok := v.(bool)
	switch {
	case !there:
		return false, errMembers
	case !ok:
		return false, errTypes
	}
	return allow, nil
}
