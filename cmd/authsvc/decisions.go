package main

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"strings"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/cmd/authsvc/internal/hooks"
	"authsvc/cmd/authsvc/internal/rules"
	"authsvc/internal/protocol/outbound"
	"authsvc/internal/seal/sessionshape"
)

// decisions holds the configured callbacks of sign-ins: rules, which run first, then
// hooks. A callback that is not configured is nil.
type decisions struct {
	signIn, claims, redirect *rules.Rule
	hooks                    map[string][]*hooks.Hook // by question
}

// configureDecisions compiles the rules of the settings and installs them in the
// engine's configuration. It does not evaluate them or call hooks.
func configureDecisions(s *config.Settings) error {
	c := ruleCompiler{settings: s}
	d := &decisions{
		signIn:   c.compile("rules.sign_in", rules.SignIn, s.Rules.SignIn),
		claims:   c.compile("rules.claims", rules.Claims, s.Rules.Claims),
		redirect: c.compile("rules.redirect", rules.Redirect, s.Rules.Redirect),
	}
	for _, w := range s.Rules.When {
		if rule := c.compile(w.Key, rules.When, w.Expression); rule != nil {
			w.Holds = func(r authsvc.AccessRequest) (bool, error) { return rule.Holds(rules.OfAccess(&r)) }
		}
	}
	var wrong config.Mistakes
	proxy, _ := outbound.ParseProxy(s.Engine.Outbound.Proxy, s.Engine.Outbound.NoProxy) // the engine reports the mistake
	d.hooks, wrong = configureHooks(s, hooks.NewHTTPClient(s.Engine.Outbound.AllowNetworks, proxy))
	c.mistakes = append(c.mistakes, wrong...)
	d.install(&s.Engine.Callbacks, s)
	if len(c.mistakes) > 0 {
		return c.mistakes
	}
	return nil
}

// install sets the callbacks that are configured, even if their rules have mistakes:
// the engine then knows that claims may have further names.
func (d *decisions) install(c *authsvc.Callbacks, s *config.Settings) {
	c.SignIn, c.Claims, c.CreateUser, c.AllowRedirect = nil, nil, nil, nil
	if d.signIn != nil || d.hooks[hooks.SignIn] != nil {
		c.SignIn = d.maySignIn
	}
	if s.Rules.Claims.Text != "" || d.hooks[hooks.Claims] != nil {
		c.Claims = d.keepClaims
	}
	if d.hooks[hooks.CreateUser] != nil {
		c.CreateUser = d.createUser
	}
	if d.redirect != nil {
		c.AllowRedirect = d.allowRedirect
	}
}

// ruleFailed returns a refusal for a rule that could not be evaluated.
func ruleFailed(err error) error {
	return &authsvc.Refusal{Reason: "a rule failed", Failed: true, Err: err}
}

// maySignIn is the SignIn callback: the rule, then the hooks.
func (d *decisions) maySignIn(ctx context.Context, a authsvc.SignInAttempt) (redirect string, err error) {
	if d.signIn != nil {
		ok, err := d.signIn.Holds(rules.OfAttempt(&a))
		switch {
		case err != nil:
			return "", ruleFailed(err)
		case !ok:
			return "", &authsvc.Refusal{Reason: "by the rule of sign-in"}
		}
	}
	return d.askSignIn(ctx, &a)
}

// keepClaims is the Claims callback. Claims of the rule override the claims that are
// kept anyway; claims of the hooks override both.
func (d *decisions) keepClaims(ctx context.Context, a authsvc.SignInAttempt, kept authsvc.Claims) (authsvc.Claims, error) {
	if d.claims != nil {
		more, err := d.claims.Map(rules.OfAttempt(&a))
		if err == nil {
			kept, err = withClaims(kept, more)
		}
		if err != nil {
			return nil, ruleFailed(err)
		}
	}
	return d.askClaims(ctx, &a, kept)
}

// withClaims returns kept with more added; more takes precedence. The names must be
// valid in session.claims. The engine limits the size.
func withClaims(kept, more authsvc.Claims) (authsvc.Claims, error) {
	all := authsvc.Claims{}
	maps.Copy(all, kept)
	for name, v := range more {
		if !sessionshape.UsableName(name) {
			return nil, errors.New("a claim has a name that session.claims does not accept")
		}
		all[name] = v
	}
	return all, nil
}

// allowRedirect is the AllowRedirect callback.
func (d *decisions) allowRedirect(_ context.Context, to *url.URL) bool {
	ok, err := d.redirect.Holds(rules.OfAddress(to))
	return ok && err == nil
}

// A ruleCompiler compiles rules and collects their mistakes.
type ruleCompiler struct {
	settings *config.Settings
	mistakes config.Mistakes
}

func (c *ruleCompiler) compile(key string, kind rules.Kind, e config.Expression) *rules.Rule {
	if e.Text == "" {
		return nil
	}
	rule, problems := rules.Compile(kind, e.Text)
	for _, p := range problems {
		c.mistakes = append(c.mistakes, c.settings.ExpressionMistake(key, e, p.Line, p.Column, "is wrong: "+p.Message, "the variables are "+strings.Join(rules.Names(kind), ", ")))
	}
	return rule
}
