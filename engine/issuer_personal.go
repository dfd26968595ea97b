package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/seal/personaltoken"
	"authsvc/internal/text"
)

// Limits of personal access tokens.
const (
	minPersonalAge     = time.Hour
	maxPersonalAge     = 366 * 24 * time.Hour
	defaultPersonalAge = 90 * 24 * time.Hour
	maxPersonalTokens  = 100 // of a user
	maxPersonalUses    = 50  // audiences, and hosts, of a token
	maxPersonalName    = 64  // characters
)

// personalTokens holds the settings for personal access tokens.
type personalTokens struct {
	enabled bool
	maxAge  time.Duration
}

// checkPersonalTokens checks PersonalTokenOptions.
func checkPersonalTokens(b *builder, s *issuer) {
	o := b.config.PersonalTokens
	s.pats.enabled, s.pats.maxAge = o.Enabled, cmp.Or(o.MaxAge, maxPersonalAge)
	if s.pats.maxAge < minPersonalAge || s.pats.maxAge > maxPersonalAge {
		b.fail("PersonalTokens.MaxAge", "must be between 1 h and 8784 h (366 days)", "use a duration such as 2160h")
	}
	if o.Enabled {
		b.needStorage("personal_tokens_without_storage", "PersonalTokens.Enabled", "is set, but there is no storage to keep the tokens in", "set Adapter, or leave it out")
	}
}

// personalUses lists where a token is valid. The store holds it encrypted.
type personalUses struct {
	Audiences []string `json:"audiences,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
}

// CreatePersonalToken implements [Service.CreatePersonalToken].
func (is *issuer) CreatePersonalToken(ctx context.Context, userID string, r authsvc.PersonalTokenRequest) (token string, info authsvc.PersonalToken, err error) {
	if !is.pats.enabled {
		return "", authsvc.PersonalToken{}, authsvc.ErrNoPersonalTokens
	}
	uses, err := is.checkPersonal(&r)
	if err != nil {
		return "", authsvc.PersonalToken{}, err
	}
	var owner authsvc.User
	token, info, err = is.makePersonal(ctx, userID, &r, uses, func(u authsvc.User) error { owner = u; return nil })
	if err == nil {
		is.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "pat.created", UserID: userID}, "token "+info.ID)
		is.mailing.notify(ctx, madePersonal(owner, &info))
	}
	return token, info, err
}

// makePersonal makes a token for a request that checkPersonal completed. It stores the
// token only if the function may returns nil; see PutCredentialIf.
func (is *issuer) makePersonal(ctx context.Context, userID string, r *authsvc.PersonalTokenRequest, uses personalUses, may func(authsvc.User) error) (token string, info authsvc.PersonalToken, err error) {
	token = personaltoken.New()
	now := is.fleet.Now().UTC().Truncate(time.Millisecond)
	c := adapter.Credential{Kind: adapter.CredentialToken, ID: seal.Digest(token), UserID: userID, Name: r.Name, Version: 1, Created: now, Expires: now.Add(r.Life)}
	if c.Data, err = is.fleet.SealData(&c, uses); err != nil {
		return "", authsvc.PersonalToken{}, err
	}
	if err := is.fleet.PutCredentialIf(ctx, c, maxPersonalTokens, may); err != nil {
		return "", authsvc.PersonalToken{}, err
	}
	return token, is.describePersonal(&c), nil
}

// madePersonal returns the notice about a new token. It has no undo link: the owner
// revokes the token on the account page, without a fresh proof.
func madePersonal(owner authsvc.User, made *authsvc.PersonalToken) notice {
	return notice{what: "token", user: owner, name: made.Name}
}

// checkPersonal completes a request and returns all its mistakes as a [text.Invalid].
func (is *issuer) checkPersonal(r *authsvc.PersonalTokenRequest) (uses personalUses, err error) {
	var mistakes []error
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Errorf("authsvc: "+format, args...)) }
	if r.Name = norm.NFC.String(r.Name); r.Name == "" || r.Name != text.Name(r.Name) || utf8.RuneCountInString(r.Name) > maxPersonalName {
		wrong("the name of a personal access token must have 1 to %d characters, no control characters and no space around it", maxPersonalName)
	}
	if r.Life == 0 {
		r.Life = min(defaultPersonalAge, is.pats.maxAge)
	}
	if r.Life < time.Minute || r.Life > is.pats.maxAge {
		wrong("a personal access token must be valid for at least a minute and at most %g hours", is.pats.maxAge.Hours())
	}
	if len(r.Audiences)+len(r.Hosts) == 0 {
		wrong("a personal access token needs at least one audience or host")
	}
	if len(r.Audiences) > maxPersonalUses || len(r.Hosts) > maxPersonalUses {
		wrong("a personal access token may have at most %d audiences and %d hosts", maxPersonalUses, maxPersonalUses)
	}
	for _, id := range r.Audiences {
		if is.audienceOf(id) == nil {
			wrong("%q is not a configured audience", text.Printable(id, maxAudName))
		}
		uses.Audiences = append(uses.Audiences, id)
	}
	for _, host := range r.Hosts {
		if !strings.Contains(host, "://") {
			host = "https://" + host
		}
		origin, ok := weburl.ExactOrigin(host)
		if !ok || len(origin) > maxAudName || strings.Contains(origin, "*") {
			wrong("%q is not an origin such as https://grafana.example.com", text.Printable(host, maxAudName))
		}
		uses.Hosts = append(uses.Hosts, origin)
	}
	for _, list := range []*[]string{&uses.Audiences, &uses.Hosts} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if len(mistakes) > 0 {
		return uses, &text.Invalid{Err: errors.Join(mistakes...)}
	}
	return uses, nil
}

// openPersonal decrypts where a token is valid.
func (is *issuer) openPersonal(c *adapter.Credential) (uses personalUses, stale bool, err error) {
	stale, err = is.fleet.OpenData(c, &uses)
	return uses, stale, err
}

// personalEnd returns when a token expires in this configuration.
func (is *issuer) personalEnd(c *adapter.Credential) time.Time {
	last := c.Created.Add(is.pats.maxAge)
	if c.Expires.IsZero() || last.Before(c.Expires) {
		return last
	}
	return c.Expires
}

// personalID names a token by 132 bits of a digest that differs from the stored one.
func personalID(digest string) string {
	const chars = 22
	return seal.Digest("personal access token " + digest)[:chars]
}

func (is *issuer) describePersonal(c *adapter.Credential) authsvc.PersonalToken {
	uses, _, err := is.openPersonal(c)
	return authsvc.PersonalToken{ID: personalID(c.ID), UserID: c.UserID, Name: c.Name, Audiences: uses.Audiences, Hosts: uses.Hosts,
		Created: c.Created, Used: c.Used, Expires: is.personalEnd(c), Sealed: err != nil}
}

// PersonalTokens implements [Service.PersonalTokens].
func (is *issuer) PersonalTokens(ctx context.Context, userID string) ([]authsvc.PersonalToken, error) {
	list, err := is.personalOf(ctx, userID)
	all := make([]authsvc.PersonalToken, 0, len(list))
	for i := range list {
		all = append(all, is.describePersonal(&list[i]))
	}
	slices.SortStableFunc(all, func(a, b authsvc.PersonalToken) int { return a.Created.Compare(b.Created) })
	return all, err
}

func (is *issuer) personalOf(ctx context.Context, userID string) (list []adapter.Credential, err error) {
	p, err := is.Adapter.GetPerson(ctx, userID)
	for _, c := range p.Credentials {
		switch c.Kind {
		case adapter.CredentialToken:
			list = append(list, c)
		}
	}
	return list, err
}

// RevokePersonalToken implements [Service.RevokePersonalToken].
func (is *issuer) RevokePersonalToken(ctx context.Context, userID, id string) error {
	err := is.dropPersonal(ctx, userID, id)
	if err == nil {
		is.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "pat.revoked", UserID: userID}, "token "+id)
	}
	return err
}

func (is *issuer) dropPersonal(ctx context.Context, userID, id string) error {
	list, err := is.personalOf(ctx, userID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(c adapter.Credential) bool { return personalID(c.ID) == id })
	if i < 0 {
		return adapter.ErrNotFound
	}
	return is.Adapter.DeleteCredential(ctx, adapter.CredentialToken, list[i].ID, userID, nil)
}

// RevokePersonalTokens implements [Service.RevokePersonalTokens].
func (is *issuer) RevokePersonalTokens(ctx context.Context, userID string) (int, error) {
	n, err := is.Adapter.DeleteCredentials(ctx, userID, nil, adapter.CredentialToken)
	if err == nil && n > 0 {
		is.auditor.RecordAct(ctx, authsvc.AuditEvent{Name: "pat.revoked", UserID: userID}, "all")
	}
	return n, err
}
