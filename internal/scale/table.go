package scale

import (
	"strings"
	"time"

	"authsvc/internal/sqladapter"
)

// A table is what is filled in, by the names of the interface.
type table struct {
	name    string
	columns string // separated by ", "
	rows    int
	row     func(i int) []any
}

// tables lists what a population has, those that are referred to first.
// encode makes the times of the shared tables; own tables hold milliseconds.
func (p *Population) tables(encode func(time.Time) any) []table {
	return append(p.people(encode), p.upkeep(encode)...)
}

func (p *Population) people(encode func(time.Time) any) []table {
	sessions := p.live() + p.Ended
	return []table{
		{"{User}", "{User.id}, {User.name}, {User.email}, {User.emailVerified}, {User.image}", p.Users, func(i int) []any {
			u := p.user(i)
			var verified any
			if !u.EmailVerified.IsZero() {
				verified = encode(u.EmailVerified)
			}
			return []any{u.ID, u.Name, u.Email, verified, u.Image}
		}},
		{"{Account}", "{Account.id}, {Account.userId}, {Account.type}, {Account.provider}, {Account.providerAccountId}, " +
			"{Account.access_token}, {Account.expires_at}, {Account.token_type}, {Account.scope}", p.Users * p.Accounts, func(i int) []any {
			a := p.account(i)
			return []any{a.ID, a.UserID, a.Type, a.Provider, a.ProviderAccountID, a.AccessToken, a.ExpiresAt, a.TokenType, a.Scope}
		}},
		{"{Session}", "{Session.id}, {Session.sessionToken}, {Session.userId}, {Session.expires}", sessions, func(i int) []any {
			s := p.session(i)
			return []any{s.ID, s.SessionToken, s.UserID, encode(s.Expires)}
		}},
		{"authsvc_session", "digest, session_token, user_id, expires, auth_time, provider", sessions, func(i int) []any {
			s := p.session(i)
			return []any{s.Digest, s.SessionToken, s.UserID, s.Expires.UnixMilli(), s.AuthTime.UnixMilli(), s.Provider}
		}},
	}
}

// upkeep is what has expired beside sessions.
func (p *Population) upkeep(encode func(time.Time) any) []table {
	ended := func(i int) time.Time { return p.Now.Add(-time.Hour).Add(time.Duration(i) * time.Millisecond) }
	own := func(i int) []any { return []any{p.Cookie(-1 - i), ended(i).UnixMilli()} }
	return []table{
		{"{VerificationToken}", "{VerificationToken.identifier}, {VerificationToken.token}, {VerificationToken.expires}", p.Ended / 4, func(i int) []any {
			return []any{p.user(i % p.Users).Email, p.Cookie(-1 - i), encode(ended(i))}
		}},
		{"authsvc_once", "id, expires", p.Ended / 4, own},
		{"authsvc_permit", "id, expires", p.Ended / 4, own},
	}
}

// named puts the names of the database in place of those of the interface.
func (t table) named(names sqladapter.Names, quote func(string) string) (table, error) {
	var err error
	if t.name, err = names.Expand(t.name, quote); err != nil {
		return t, err
	}
	t.columns, err = names.Expand(t.columns, quote)
	return t, err
}

// columnNames returns the columns without quotes.
func (t table) columnNames() []string {
	return strings.Split(strings.ReplaceAll(t.columns, `"`, ""), ", ")
}
