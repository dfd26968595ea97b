package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"authsvc"
	"authsvc/cmd/authsvc/internal/rules"
	"authsvc/engine"
	"authsvc/internal/text/emailaddr"
)

type rulesCommand struct {
	Test    rulesTestCommand    `cmd:"" help:"Run a table of inputs and expectations against the configuration. No service needs to run, and no hook is called."`
	Explain rulesExplainCommand `cmd:"" help:"Show which rule of the gate decides about a request, and in which ways its path can be read. No service needs to run."`
}

type rulesTestCommand struct {
	File string `arg:"" help:"The table, in YAML; see docs/rules.md."`
	JSON bool   `name:"json" help:"Print one JSON object instead of lines."`
}

// maxRuleTests is the maximum size of a table, in bytes.
const maxRuleTests = 1 << 20

// Run asks the engine about every row.
func (c *rulesTestCommand) Run(p *program) error {
	s, err := p.load(nil)
	if err != nil {
		return err
	}
	service, err := dryRunEngine(s)
	if err != nil {
		return err
	}
	table, err := readRuleTests(c.File)
	if err != nil {
		return fmt.Errorf("%w: %w", err, errUsage)
	}
	report := ruleReport{Results: []ruleResult{}}
	for i := range table {
		report.add(table[i].run(p.ctx, service), c.File)
	}
	if err := report.print(p.stdout, c.JSON); err != nil {
		return err
	}
	if report.Failed > 0 {
		return errFindings
	}
	return nil
}

// A ruleTest is one row of the table: an input and the expected result.
type ruleTest struct {
	Name     string       `yaml:"name"`
	SignIn   *signInInput `yaml:"sign_in"`
	Redirect string       `yaml:"redirect"`
	Token    *tokenInput  `yaml:"token"`
	Want     ruleWant     `yaml:"want"`

	line int
}

type signInInput struct {
	User        rules.User     `yaml:"user"`
	Account     rules.Account  `yaml:"account"`
	Profile     map[string]any `yaml:"profile"`
	NewUser     bool           `yaml:"new_user"`
	LinkRequest bool           `yaml:"link_request"`
	Client      rules.Client   `yaml:"client"`
	Now         time.Time      `yaml:"now"`
}

type tokenInput struct {
	Audience string        `yaml:"audience"`
	User     rules.User    `yaml:"user"`
	Session  rules.Session `yaml:"session"`
	Client   rules.Client  `yaml:"client"`
	Now      time.Time     `yaml:"now"`
}

// A ruleWant is the expected result. Fields that are not set are not compared.
type ruleWant struct {
	Allow  *bool          `yaml:"allow"`
	Reason *string        `yaml:"reason"`
	Claims map[string]any `yaml:"claims"`
}

// readRuleTests reads a table. It refuses unknown keys, because a misspelt expectation
// would always be met.
func readRuleTests(name string) ([]ruleTest, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxRuleTests+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxRuleTests:
		return nil, fmt.Errorf("%s is larger than 1 MiB", name)
	}
	var table struct {
		Tests []ruleTest `yaml:"tests"`
	}
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&table); err != nil {
		return nil, fmt.Errorf("%s: %s", name, strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	var lines struct {
		Tests []yaml.Node `yaml:"tests"`
	}
	if err := yaml.Unmarshal(raw, &lines); err != nil || len(table.Tests) == 0 {
		return nil, fmt.Errorf("%s has no list of tests", name)
	}
	for i := range table.Tests {
		one := &table.Tests[i]
		one.line = lines.Tests[i].Line
		if problem := one.check(); problem != "" {
			return nil, fmt.Errorf("%s:%d: the test %s", name, one.line, problem)
		}
	}
	return table.Tests, nil
}

// check returns the problem with a row, or "".
func (t *ruleTest) check() string {
	inputs := 0
	for _, there := range []bool{t.SignIn != nil, t.Redirect != "", t.Token != nil} {
		if there {
			inputs++
		}
	}
	switch {
	case inputs != 1:
		return "needs one of sign_in, redirect and token"
	case t.Want.Allow == nil:
		return "needs want: {allow: true} or {allow: false}"
	case t.SignIn == nil && t.Want.Claims != nil:
		return "expects claims, which only a sign_in has"
	case t.Redirect != "" && t.Want.Reason != nil:
		return "expects a reason, which a redirect does not have"
	}
	for _, ip := range []string{t.signInOrNone().Client.IP, t.tokenOrNone().Client.IP} {
		if _, err := netip.ParseAddr(ip); ip != "" && err != nil {
			return fmt.Sprintf("has a client.ip, %q, that is not an address", ip)
		}
	}
	return ""
}

func (t *ruleTest) signInOrNone() signInInput {
	if t.SignIn == nil {
		return signInInput{}
	}
	return *t.SignIn
}

func (t *ruleTest) tokenOrNone() tokenInput {
	if t.Token == nil {
		return tokenInput{}
	}
	return *t.Token
}

// A ruleResult is the result of a row.
type ruleResult struct {
	Name     string   `json:"name"`
	Line     int      `json:"line"`
	Passed   bool     `json:"passed"`
	Problems []string `json:"problems,omitempty"`
}

// run asks the engine about one row.
func (t *ruleTest) run(ctx context.Context, s *engine.Operator) ruleResult {
	r := ruleResult{Name: t.Name, Line: t.line}
	switch {
	case t.SignIn != nil:
		v := s.DryRunSignIn(ctx, t.SignIn.attempt())
		r.compare(t.Want, v.Allowed, v.Reason, v.Err)
		if t.Want.Claims != nil && v.Allowed && !sameJSON(t.Want.Claims, v.Claims) {
			r.fail("the claims are %s, want %s", asJSON(v.Claims), asJSON(t.Want.Claims))
		}
	case t.Token != nil:
		reason, err := s.DryRunToken(ctx, t.Token.Audience, t.Token.request(), t.Token.Session.Claims)
		if err != nil {
			r.fail("%v", err)
			break
		}
		r.compare(t.Want, reason == "", reason, nil)
	default:
		_, ok := s.DryRunRedirect(ctx, t.Redirect)
		r.compare(t.Want, ok, "", nil)
	}
	r.Passed = len(r.Problems) == 0
	return r
}

func (r *ruleResult) fail(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// compare records how a decision differs from want.
func (r *ruleResult) compare(want ruleWant, allowed bool, reason string, err error) {
	words := map[bool]string{true: "allowed", false: "refused"}
	got := words[allowed]
	if reason != "" {
		got += " (" + reason + ")"
	}
	var refusal *authsvc.Refusal
	if errors.As(err, &refusal) && refusal.Err != nil {
		got += ": " + oneLine(refusal.Err)
	}
	if allowed != *want.Allow {
		r.fail("is %s, want %s", got, words[*want.Allow])
	} else if want.Reason != nil && reason != *want.Reason {
		r.fail("is %s, want the reason %q", got, *want.Reason)
	}
}

// attempt returns the sign-in of a row. The address has the form that a sign-in gives
// it.
func (in *signInInput) attempt() authsvc.SignInAttempt {
	a := authsvc.SignInAttempt{
		User: userOf(in.User), EmailProved: in.User.EmailVerified,
		Account: authsvc.Account{Provider: in.Account.Provider, Type: in.Account.Type, ProviderAccountID: in.Account.ID},
		Profile: in.Profile, IsNewUser: in.NewUser, VerificationRequest: in.LinkRequest, Client: clientOf(in.Client), Time: in.Now,
	}
	if a.Time.IsZero() {
		a.Time = time.Now()
	}
	return a
}

func (in *tokenInput) request() authsvc.AccessRequest {
	u := userOf(in.User)
	r := authsvc.AccessRequest{Client: clientOf(in.Client), Time: in.Now, Method: "POST",
		Session: &authsvc.Session{UserID: u.ID, Name: u.Name, Email: u.Email, EmailVerified: in.User.EmailVerified, Image: u.Image,
			AuthTime: in.Session.AuthTime, Provider: in.Session.Provider}}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	return r
}

func userOf(u rules.User) authsvc.User {
	if address, err := emailaddr.Normalise(u.Email); err == nil {
		u.Email = address
	}
	return authsvc.User{ID: u.ID, Name: u.Name, Email: u.Email, Image: u.Image}
}

func clientOf(c rules.Client) authsvc.RequestClient {
	ip, _ := netip.ParseAddr(c.IP) // check has validated it
	return authsvc.RequestClient{IP: ip, Agent: c.Agent}
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// sameJSON reports whether two values have the same JSON.
func sameJSON(a, b any) bool {
	var x, y any
	return json.Unmarshal([]byte(asJSON(a)), &x) == nil && json.Unmarshal([]byte(asJSON(b)), &y) == nil && reflect.DeepEqual(x, y)
}

// A ruleReport is the result of a table.
type ruleReport struct {
	Tests   int          `json:"tests"`
	Failed  int          `json:"failed"`
	Results []ruleResult `json:"results"`
	lines   []string
}

func (r *ruleReport) add(one ruleResult, file string) {
	r.Tests++
	r.Results = append(r.Results, one)
	if !one.Passed {
		r.Failed++
		r.lines = append(r.lines, fmt.Sprintf("%s:%d: %s: %s", file, one.Line, one.Name, strings.Join(one.Problems, "; ")))
	}
}

func (r *ruleReport) print(w io.Writer, asObject bool) error {
	if asObject {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	for _, line := range r.lines {
		fmt.Fprintln(w, line)
	}
	_, err := fmt.Fprintf(w, "%s, %d failed\n", plural(r.Tests, "test", "tests"), r.Failed)
	return err
}
