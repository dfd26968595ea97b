package main

import (
	"context"
	"net/http"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/cmd/authsvc/internal/hooks"
	"authsvc/cmd/authsvc/internal/rules"
)

// maxHooks limits how many hooks there may be, because the user waits for all of them.
const maxHooks = 3

// hookFailed returns a refusal for a hook that did not decide.
func hookFailed(err error) error {
	return &authsvc.Refusal{Reason: "a hook failed", Failed: true, Err: err}
}

// configureHooks returns the hooks of the settings by question.
func configureHooks(s *config.Settings, client *http.Client) (map[string][]*hooks.Hook, config.Mistakes) {
	c := hookCompiler{settings: s, client: client}
	byKind := map[string][]*hooks.Hook{}
	for i, h := range s.Hooks {
		key := config.HookKey(i)
		if i == maxHooks {
			c.mistakes = append(c.mistakes, s.Mistake(key, "exceeds the maximum of three", "use one endpoint for several questions; a sign-in waits for all hooks"))
		}
		if h.On == "" {
			c.mistakes = append(c.mistakes, s.Mistake(key+".on", "is missing", "name the questions for it: sign_in, claims or create_user"))
		}
		byKind[h.On] = append(byKind[h.On], c.make(key, h))
	}
	for _, one := range s.Credentials {
		if one.Hook.URL == "" && len(one.Hook.Secrets) == 0 { // the engine reports it
			continue
		}
		one.Provider.Authorize = authorizer{c.make(one.Key+".hook", one.Hook), one.Provider.ID}.authorize
	}
	return byKind, c.mistakes
}

// A hookCompiler builds hooks and collects their mistakes.
type hookCompiler struct {
	settings *config.Settings
	client   *http.Client
	mistakes config.Mistakes
}

func (c *hookCompiler) make(key string, h config.Hook) *hooks.Hook {
	hook, problems := hooks.New(hooks.Config{URL: h.URL, Secrets: h.Secrets, Timeout: h.Timeout}, c.client)
	for _, p := range problems {
		c.mistakes = append(c.mistakes, c.settings.Mistake(key+"."+p.Field, p.Problem, p.Fix))
	}
	return hook
}

// A question tells a hook about a sign-in. It contains IDs and the provider's data, but
// no tokens.
type question struct {
	User        rules.User     `json:"user"`
	Account     rules.Account  `json:"account"`
	Profile     map[string]any `json:"profile"`
	NewUser     bool           `json:"new_user"`
	LinkRequest bool           `json:"link_request"`
	Client      rules.Client   `json:"client"`
}

func questionOf(a *authsvc.SignInAttempt) (*question, error) {
	v := rules.OfAttempt(a)
	profile, err := rules.PlainProfile(v.Profile)
	if err != nil {
		return nil, hookFailed(err)
	}
	return &question{User: v.User, Account: v.Account, Profile: profile, NewUser: v.NewUser, LinkRequest: v.LinkRequest, Client: v.Client}, nil
}

// askSignIn asks the hooks in turn. The first refusal decides.
func (d *decisions) askSignIn(ctx context.Context, a *authsvc.SignInAttempt) (redirect string, err error) {
	for _, h := range d.hooks[hooks.SignIn] {
		q, err := questionOf(a)
		if err != nil {
			return "", err
		}
		switch allow, to, err := h.AskSignIn(ctx, q); {
		case err != nil:
			return "", hookFailed(err)
		case to != "":
			return to, nil
		case !allow:
			return "", &authsvc.Refusal{Reason: "by a hook"}
		}
	}
	return "", nil
}

// askClaims adds the claims that the hooks return. Of two claims with the same name,
// the later one is kept.
func (d *decisions) askClaims(ctx context.Context, a *authsvc.SignInAttempt, kept authsvc.Claims) (authsvc.Claims, error) {
	for _, h := range d.hooks[hooks.Claims] {
		q, err := questionOf(a)
		if err != nil {
			return nil, err
		}
		more, err := h.AskClaims(ctx, q)
		if err == nil {
			kept, err = withClaims(kept, more)
		}
		if err != nil {
			return nil, hookFailed(err)
		}
	}
	return kept, nil
}

// createUser is the CreateUser callback.
func (d *decisions) createUser(ctx context.Context, a authsvc.SignInAttempt, u authsvc.User) (authsvc.User, error) {
	for _, h := range d.hooks[hooks.CreateUser] {
		q, err := questionOf(&a)
		if err != nil {
			return u, err
		}
		q.User.Name, q.User.Image = u.Name, u.Image // as the previous hook left them
		allow, p, err := h.AskCreateUser(ctx, q)
		switch {
		case err != nil:
			return u, hookFailed(err)
		case !allow:
			return u, &authsvc.Refusal{Reason: "by a hook"}
		}
		if p.HasName {
			u.Name = p.Name
		}
		if p.HasImage {
			u.Image = p.Image
		}
	}
	return u, nil
}

// An authorizer asks the application who the user with these credentials is.
type authorizer struct {
	hook     *hooks.Hook
	provider string
}

// authorize is the Authorize function of a provider.
func (a authorizer) authorize(ctx context.Context, fields map[string]string) (authsvc.User, error) {
	allow, p, err := a.hook.AskCredentials(ctx, map[string]any{"provider": a.provider, "fields": fields})
	switch {
	case err != nil:
		return authsvc.User{}, hookFailed(err)
	case !allow:
		return authsvc.User{}, authsvc.ErrAccessDenied
	}
	return userOfAnswer(p), nil
}

// userOfAnswer returns the user that the application's answer describes.
func userOfAnswer(p hooks.Person) authsvc.User {
	u := userOf(rules.User{ID: p.ID, Name: p.Name, Email: p.Email, Image: p.Image})
	if p.EmailVerified && u.Email != "" {
		u.EmailVerified = time.Now()
	}
	return u
}
