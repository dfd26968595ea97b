package authsvc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"authsvc/internal/personaltoken"
	"authsvc/internal/seal"
	"authsvc/internal/weburl"
)

// Bounds of personal access tokens.
const (
	minPersonalAge     = time.Hour
	maxPersonalAge     = 366 * 24 * time.Hour
	defaultPersonalAge = 90 * 24 * time.Hour
	maxPersonalTokens  = 100 // of a user
	maxPersonalUses    = 50  // audiences, and hosts, of a token
	maxPersonalName    = 64  // characters
)

// PersonalTokenOptions configure personal access tokens: with one a program acts
// for a user, without a browser, until it expires or is revoked.
type PersonalTokenOptions struct {
	// Enabled lets them be made and used. It needs an Adapter.
	Enabled bool
	// MaxAge is how long one is good at most, default and most 8784 h (366 days),
	// at least 1 h. Those that are out end so, too, when it is lowered.
	MaxAge time.Duration
}

// personalTokens is what a service needs for them.
type personalTokens struct {
	enabled bool
	maxAge  time.Duration
}

// checkPersonalTokens checks PersonalTokenOptions.
func checkPersonalTokens(b *builder, s *Service) {
	o := b.config.PersonalTokens
	s.pats.enabled, s.pats.maxAge = o.Enabled, cmp.Or(o.MaxAge, maxPersonalAge)
	if s.pats.maxAge < minPersonalAge || s.pats.maxAge > maxPersonalAge {
		b.fail("PersonalTokens.MaxAge", "is not between 1 h and 8784 h (366 days)", "use a duration such as 2160h")
	}
	if o.Enabled {
		b.needStorage("PersonalTokens.Enabled", "is set, but there is no storage to keep the tokens in", "set Adapter, or leave it out")
	}
}

// ErrNoPersonalTokens: Config.PersonalTokens.Enabled is not set.
var ErrNoPersonalTokens = errors.New("authsvc: personal access tokens are not enabled")

// A PersonalTokenRequest says what a new personal access token is good for.
type PersonalTokenRequest struct {
	// Name tells its tokens apart for the user: 1 to 64 characters, without control
	// characters.
	Name string
	// Audiences are ids of TokenOptions.Audiences for which POST token answers
	// tokens to it, at most 50.
	Audiences []string
	// Hosts are origins of programs behind the service that let personal access
	// tokens pass, such as https://grafana.example.com, at most 50. One without
	// scheme is https.
	Hosts []string
	// Life is how long it is good, at least 1 min and at most
	// PersonalTokenOptions.MaxAge. Default: 2160 h (90 days), or MaxAge if that is
	// less.
	Life time.Duration
}

// A PersonalToken describes a personal access token. It holds nothing by which
// the token could be used.
type PersonalToken struct {
	ID        string    `json:"id"` // 22 characters
	UserID    string    `json:"user"`
	Name      string    `json:"name"`
	Audiences []string  `json:"audiences,omitempty"`
	Hosts     []string  `json:"hosts,omitempty"`
	Created   time.Time `json:"created"`
	Used      time.Time `json:"used,omitzero"` // the day (UTC) of the latest use; zero: none
	Expires   time.Time `json:"expires"`
	// Sealed: what it is good for was sealed under a secret that is not one of
	// Config.Secrets any more. It is not accepted.
	Sealed bool `json:"sealed,omitempty"`
}

// personalUses are what a token is good for, as the store has it, sealed.
type personalUses struct {
	Audiences []string `json:"audiences,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
}

// CreatePersonalToken makes a personal access token of a user and returns it: the
// store has its digest only, so nobody can read it again. Errors:
// [ErrNoPersonalTokens], [ErrNotFound] (no such user), [ErrAccessDenied] (the user
// is blocked), [ErrTooMany] (the user has 100, expired ones of the last minute
// counted), and all that is wrong with the request, joined.
func (s *Service) CreatePersonalToken(ctx context.Context, userID string, r PersonalTokenRequest) (token string, info PersonalToken, err error) {
	if !s.pats.enabled {
		return "", PersonalToken{}, ErrNoPersonalTokens
	}
	uses, err := s.checkPersonal(&r)
	if err != nil {
		return "", PersonalToken{}, err
	}
	token = personaltoken.New()
	now := s.now().UTC().Truncate(time.Millisecond)
	c := Credential{Kind: CredentialToken, ID: seal.Digest(token), UserID: userID, Name: r.Name, Version: 1, Created: now, Expires: now.Add(r.Life)}
	if c.Data, err = s.sealData(&c, uses); err != nil {
		return "", PersonalToken{}, err
	}
	if err := s.putCredential(ctx, c, maxPersonalTokens); err != nil {
		return "", PersonalToken{}, err
	}
	s.recordAct(ctx, AuditEvent{Name: "pat.created", UserID: userID})
	return token, s.describePersonal(&c), nil
}

// checkPersonal completes a request, and says all that is wrong with it.
func (s *Service) checkPersonal(r *PersonalTokenRequest) (uses personalUses, err error) {
	var mistakes []error
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Errorf("authsvc: "+format, args...)) }
	if r.Name = norm.NFC.String(r.Name); r.Name == "" || r.Name != cleanName(r.Name) || utf8.RuneCountInString(r.Name) > maxPersonalName {
		wrong("the name of a personal access token has 1 to %d characters, no control characters and no space around it", maxPersonalName)
	}
	if r.Life == 0 {
		r.Life = min(defaultPersonalAge, s.pats.maxAge)
	}
	if r.Life < time.Minute || r.Life > s.pats.maxAge {
		wrong("a personal access token is good for at least a minute and at most %g hours", s.pats.maxAge.Hours())
	}
	if len(r.Audiences)+len(r.Hosts) == 0 {
		wrong("a personal access token needs an audience or a host that it is for")
	}
	if len(r.Audiences) > maxPersonalUses || len(r.Hosts) > maxPersonalUses {
		wrong("a personal access token has at most %d audiences and %d hosts", maxPersonalUses, maxPersonalUses)
	}
	for _, id := range r.Audiences {
		if s.audienceOf(id) == nil {
			wrong("%q is no audience that is configured", printable(id, maxAudName))
		}
		uses.Audiences = append(uses.Audiences, id)
	}
	for _, host := range r.Hosts {
		if !strings.Contains(host, "://") {
			host = "https://" + host
		}
		origin, ok := weburl.ExactOrigin(host)
		if !ok || len(origin) > maxAudName || strings.Contains(origin, "*") {
			wrong("%q is not an origin such as https://grafana.example.com", printable(host, maxAudName))
		}
		uses.Hosts = append(uses.Hosts, origin)
	}
	for _, list := range []*[]string{&uses.Audiences, &uses.Hosts} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return uses, errors.Join(mistakes...)
}

// createTries is how often a write is tried that another one overtakes.
const createTries = 5

// putCredential stores a credential, unless the user is blocked, which is judged at
// the epoch that the store then compares, or has most of the kind.
func (s *Service) putCredential(ctx context.Context, c Credential, most int) error {
	for try := 1; ; try++ {
		u, err := s.adapter.GetUser(ctx, c.UserID)
		switch {
		case err != nil:
			return err
		case !u.Blocked.IsZero():
			return fmt.Errorf("%w: the user is blocked", ErrAccessDenied)
		case !u.DeleteAfter.IsZero():
			return fmt.Errorf("%w: the user is to be deleted", ErrAccessDenied)
		}
		err = s.adapter.PutCredential(ctx, c, u.Epoch, most)
		if !errors.Is(err, ErrStale) || try == createTries {
			return err
		}
	}
}

// placeOf is what the data of a credential is sealed for.
func placeOf(c *Credential) []string { return []string{string(c.Kind), c.ID, c.UserID} }

// sealData seals a value to be the data of a credential, as JSON; see openData.
func (s *Service) sealData(c *Credential, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return []byte(s.keys.credentials.Seal(string(raw), placeOf(c)...)), nil
}

// openData opens the data of a credential. What was sealed for another one or for
// another user does not open. stale: that was done with a secret that is not the
// first.
func (s *Service) openData(c *Credential, v any) (stale bool, err error) {
	raw, stale, err := s.keys.credentials.Open(string(c.Data), placeOf(c)...)
	if err == nil {
		err = json.Unmarshal([]byte(raw), v)
	}
	return stale, err
}

// openPersonal says what a token is good for.
func (s *Service) openPersonal(c *Credential) (uses personalUses, stale bool, err error) {
	stale, err = s.openData(c, &uses)
	return uses, stale, err
}

// personalEnd is when a token ends, in this configuration.
func (s *Service) personalEnd(c *Credential) time.Time {
	last := c.Created.Add(s.pats.maxAge)
	if c.Expires.IsZero() || last.Before(c.Expires) {
		return last
	}
	return c.Expires
}

// personalID names a token: 132 bits of a digest that is not the one in the store.
func personalID(digest string) string {
	const chars = 22
	return seal.Digest("personal access token " + digest)[:chars]
}

func (s *Service) describePersonal(c *Credential) PersonalToken {
	uses, _, err := s.openPersonal(c)
	return PersonalToken{ID: personalID(c.ID), UserID: c.UserID, Name: c.Name, Audiences: uses.Audiences, Hosts: uses.Hosts,
		Created: c.Created, Used: c.Used, Expires: s.personalEnd(c), Sealed: err != nil}
}

// PersonalTokens returns the personal access tokens of a user, expired ones too,
// the oldest first. ErrNotFound: no such user.
func (s *Service) PersonalTokens(ctx context.Context, userID string) ([]PersonalToken, error) {
	list, err := s.personalOf(ctx, userID)
	all := make([]PersonalToken, 0, len(list))
	for i := range list {
		all = append(all, s.describePersonal(&list[i]))
	}
	slices.SortStableFunc(all, func(a, b PersonalToken) int { return a.Created.Compare(b.Created) })
	return all, err
}

func (s *Service) personalOf(ctx context.Context, userID string) (list []Credential, err error) {
	p, err := s.adapter.GetPerson(ctx, userID)
	for _, c := range p.Credentials {
		switch c.Kind {
		case CredentialToken:
			list = append(list, c)
		}
	}
	return list, err
}

// RevokePersonalToken ends a personal access token of a user by its
// [PersonalToken].ID, for every replica at once. What POST token answered to it
// before is good until it expires, 15 minutes at most. ErrNotFound: the user has
// no such token.
func (s *Service) RevokePersonalToken(ctx context.Context, userID, id string) error {
	list, err := s.personalOf(ctx, userID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(c Credential) bool { return personalID(c.ID) == id })
	if i < 0 {
		return ErrNotFound
	}
	if err := s.adapter.DeleteCredential(ctx, CredentialToken, list[i].ID, userID, nil); err != nil {
		return err
	}
	s.recordAct(ctx, AuditEvent{Name: "pat.revoked", UserID: userID}, "one")
	return nil
}

// RevokePersonalTokens ends all personal access tokens of a user and returns how
// many. EndSessions does not: programs go on when a person signs out everywhere.
func (s *Service) RevokePersonalTokens(ctx context.Context, userID string) (int, error) {
	n, err := s.adapter.DeleteCredentials(ctx, userID, nil, CredentialToken)
	if err == nil && n > 0 {
		s.recordAct(ctx, AuditEvent{Name: "pat.revoked", UserID: userID}, "all")
	}
	return n, err
}
