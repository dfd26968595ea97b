package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
	"authsvc/internal/text/plainlog"
)

type rulesExplainCommand struct {
	Request  string   `placeholder:"'METHOD URL'" help:"The request, such as 'GET https://app.example.com/admin/x'. The part after the host is used unchanged."`
	URL      string   `name:"url" placeholder:"URL" help:"The URL of the request, instead of --request."`
	Method   string   `placeholder:"METHOD" help:"The method of the request, with --url. Default: GET."`
	User     string   `placeholder:"WHO" help:"Who asks: the id or the address of a user. A user who is not in the store is made up, with a proved address. Default: not signed in."`
	Provider string   `placeholder:"ID" help:"The provider of the sign-in. Default: the first in the configuration."`
	Age      string   `placeholder:"DURATION" help:"How long ago they signed in, such as 2h. Default: just now."`
	Claim    []string `placeholder:"NAME=VALUE" sep:"none" help:"A claim of the session, a text or JSON, such as groups=[\"ops\"]; may be repeated."`
	Token    bool     `help:"The request has a personal access token for the host, and no session."`
	IP       string   `name:"ip" placeholder:"ADDRESS" help:"The address of the client."`
	Agent    string   `placeholder:"TEXT" help:"User-Agent of the client."`
	JSON     bool     `name:"json" help:"Print one JSON object instead of lines."`
}

// explained is the output of --json.
type explained struct {
	URL      string             `json:"url"`
	Method   string             `json:"method"`
	Person   string             `json:"person"`
	Host     string             `json:"host,omitempty"` // key of the configuration
	Verdict  string             `json:"verdict"`
	By       string             `json:"by,omitempty"` // key of the rule
	Reason   string             `json:"reason,omitempty"`
	MaxAge   string             `json:"max_age,omitempty"`
	Readings []explainedReading `json:"readings"`
}

type explainedReading struct {
	Path    string `json:"path"`
	Method  string `json:"method"`
	Rule    string `json:"rule"`
	Match   string `json:"match,omitempty"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
}

// Run asks the engine. It serves nothing, and reads only users from the store.
func (c *rulesExplainCommand) Run(p *program) error {
	if err := c.readRequest(); err != nil {
		return err
	}
	s, err := p.load(nil)
	if err != nil {
		return err
	}
	service, err := prepareEngine(s, addToConditions(s))
	if err != nil {
		return err
	}
	q, person, err := c.question(p, s)
	if err != nil {
		return err
	}
	e, err := service.DryRunGate(p.ctx, q)
	if err != nil {
		return fmt.Errorf("the request: %w: %w", err, errUsage)
	}
	out := c.explain(e, person)
	if c.JSON {
		return p.printLine(out)
	}
	return out.print(p)
}

// readRequest takes method and URL from --request, or checks that --url has them.
func (c *rulesExplainCommand) readRequest() error {
	switch method, address, ok := strings.Cut(c.Request, " "); {
	case c.Request == "" && c.URL == "":
		return fmt.Errorf("no request is given: add --request 'GET https://app.example.com/': %w", errUsage)
	case c.Request == "":
		c.Method = cmp.Or(c.Method, http.MethodGet)
	case c.URL != "" || c.Method != "":
		return fmt.Errorf("--request already has the method and the URL: leave out --url and --method: %w", errUsage)
	case !ok || method == "" || !strings.Contains(address, "://"):
		return fmt.Errorf("--request %s: write the method and the URL, such as 'GET https://app.example.com/': %w", truncate(c.Request), errUsage)
	default:
		c.Method, c.URL = method, address
	}
	return nil
}

// question builds the question from the flags. person describes who asks.
func (c *rulesExplainCommand) question(p *program, s *config.Settings) (q engine.GateQuestion, person string, err error) {
	q = engine.GateQuestion{Method: c.Method, URL: c.URL, Token: c.Token, Claims: authsvc.Claims{}, Time: time.Now(), Client: authsvc.RequestClient{Agent: c.Agent}}
	if c.IP != "" {
		if q.Client.IP, err = netip.ParseAddr(c.IP); err != nil {
			return q, "", fmt.Errorf("--ip %s is not an address: %w", truncate(c.IP), errUsage)
		}
	}
	for _, claim := range c.Claim {
		name, text, ok := strings.Cut(claim, "=")
		if !ok || name == "" {
			return q, "", fmt.Errorf("--claim %s: write NAME=VALUE: %w", truncate(claim), errUsage)
		}
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			v = text
		}
		q.Claims[name] = v
	}
	if c.User == "" {
		if c.Token || len(c.Claim) > 0 || c.Age != "" || c.Provider != "" {
			return q, "", fmt.Errorf("no user is given: add --user: %w", errUsage)
		}
		return q, "nobody", nil
	}
	if q.Session, person, err = c.session(p, s, q.Time); err == nil && c.Token {
		person += ", with a personal access token"
	}
	return q, person, err
}

// session returns a session of the user that --user names.
func (c *rulesExplainCommand) session(p *program, s *config.Settings, now time.Time) (*authsvc.Session, string, error) {
	var age time.Duration
	if c.Age != "" {
		var err error
		if age, err = config.Duration(c.Age); err != nil {
			return nil, "", fmt.Errorf("--age: %w: %w", err, errUsage)
		}
	}
	v := &authsvc.Session{UserID: c.User, AuthTime: now.Add(-age), Provider: c.Provider}
	if v.Provider == "" && len(s.Engine.Providers) > 0 {
		v.Provider = config.ProviderID(s.Engine.Providers[0])
	}
	u, err := c.stored(p, s)
	switch {
	case err != nil:
		return nil, "", err
	case u != nil && !u.Blocked.IsZero():
		return nil, "", fmt.Errorf("the user %s is blocked and has no session", plainlog.Text(u.ID))
	case u != nil:
		v.UserID, v.Name, v.Email, v.Image, v.EmailVerified = u.ID, u.Name, u.Email, u.Image, u.Email != "" && !u.EmailVerified.IsZero()
		proved := "not proved"
		if v.EmailVerified {
			proved = "proved"
		}
		return v, fmt.Sprintf("%s (%s, %s)", plainlog.Text(u.ID), plainlog.Text(cmp.Or(u.Email, "no address")), proved), nil
	}
	if address, bad := authsvc.NormaliseEmail(c.User); bad == nil {
		v.UserID, v.Email, v.EmailVerified = "", address, true
		return v, plainlog.Text(address) + ", made up, with a proved address", nil
	}
	return v, "the id " + plainlog.Text(c.User) + ", made up", nil
}

// stored returns the user in the store, or nil if there is no such user or no store that
// this process can read.
func (c *rulesExplainCommand) stored(p *program, s *config.Settings) (*authsvc.User, error) {
	if missing, err := storeIsMissing(s); missing || err != nil || slices.Contains([]string{"none", "memory"}, storageScheme(s)) {
		return nil, err
	}
	var found *authsvc.User
	err := p.withPeople(func(p *people) error {
		u, err := p.find(c.User)
		if errors.As(err, new(noSuchUser)) {
			return nil
		}
		found = &u
		return err
	})
	return found, err
}

// explain translates the explanation of the engine into keys of the configuration.
func (c *rulesExplainCommand) explain(e engine.GateExplanation, person string) explained {
	out := explained{URL: c.URL, Method: c.Method, Person: person, Verdict: e.Verdict, Reason: e.Reason, Readings: []explainedReading{}}
	if e.Host < 0 {
		out.Reason = "no host of gate.hosts is reached at this URL"
		return out
	}
	out.Host = fmt.Sprintf("gate.hosts[%d]", e.Host)
	if e.MaxAge > 0 {
		out.MaxAge = e.MaxAge.String()
	}
	if e.Err != nil {
		out.Reason += ": " + oneLine(e.Err)
	}
	for i, r := range e.Readings {
		rule := out.Host + ".default"
		if r.Rule >= 0 {
			rule = fmt.Sprintf("%s.rules[%d]", out.Host, r.Rule)
		}
		out.Readings = append(out.Readings, explainedReading{Path: r.Path, Method: r.Method, Rule: rule, Match: r.Match, Verdict: r.Verdict, Reason: r.Reason})
		if i == e.Decides {
			out.By = rule
		}
	}
	return out
}

func (e *explained) print(p *program) error {
	if len(e.Readings) > 0 {
		rows := [][]string{{"READING", "METHOD", "RULE", "MATCH", "ANSWER"}}
		for _, r := range e.Readings {
			rows = append(rows, []string{plainlog.Text(r.Path), plainlog.Text(r.Method), r.Rule, cmp.Or(r.Match, "-"), withReason(r.Verdict, r.Reason)})
		}
		if err := p.printTable(rows); err != nil {
			return err
		}
	}
	text := withReason(e.Verdict, e.Reason)
	if e.MaxAge != "" {
		text += ", requires a sign-in within " + e.MaxAge
	}
	if e.By != "" {
		text += ", by " + e.By
	}
	_, err := fmt.Fprintf(p.stdout, "%s\nfor %s\n", text, e.Person)
	return err
}

func withReason(verdict, reason string) string {
	if reason == "" {
		return verdict
	}
	return verdict + " (" + plainlog.Text(reason) + ")"
}
