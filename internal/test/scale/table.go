package scale

import (
	"errors"
	"time"

	"authsvc/internal/sql/sqladapter"
)

// A table describes rows to insert, under the default names.
type table struct {
	name    string
	columns string // separated by ", "
	rows    int
	row     func(i int) []any
	random  int // number of the unique, unordered column, from 1; 0: none
}

// tables lists the tables of a population, referenced ones first, under the
// database's default names. encode converts times for the shared tables; authsvc's
// own tables hold milliseconds.
func (p *Population) tables(encode func(time.Time) any, quote func(string) string) (list []table, err error) {
	names, err := sqladapter.Naming{}.Resolve()
	if err != nil {
		return nil, err
	}
	for _, t := range append(p.people(encode), p.upkeep(encode)...) {
		var broken error
		t.name, broken = names.Expand(t.name, quote)
		err = errors.Join(err, broken)
		t.columns, broken = names.Expand(t.columns, quote)
		if err = errors.Join(err, broken); t.rows > 0 {
			list = append(list, t)
		}
	}
	return list, err
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
		}, 0},
		{"{Account}", "{Account.id}, {Account.userId}, {Account.type}, {Account.provider}, {Account.providerAccountId}, " +
			"{Account.access_token}, {Account.expires_at}, {Account.token_type}, {Account.scope}", p.Users * p.Accounts, func(i int) []any {
			a := p.account(i)
			return []any{a.ID, a.UserID, a.Type, a.Provider, a.ProviderAccountID, a.AccessToken, a.ExpiresAt, a.TokenType, a.Scope}
		}, 0},
		{"{Session}", "{Session.id}, {Session.sessionToken}, {Session.userId}, {Session.expires}", sessions, func(i int) []any {
			s := p.session(i)
			return []any{s.ID, s.SessionToken, s.UserID, encode(s.Expires)}
		}, 2},
		{"authsvc_session", "digest, session_token, user_id, expires, auth_time, provider", sessions, func(i int) []any {
			s := p.session(i)
			return []any{s.Digest, s.SessionToken, s.UserID, s.Expires.UnixMilli(), s.Began.UnixMilli(), s.Provider}
		}, 1},
	}
}

// upkeep returns the tables of expired records other than sessions.
func (p *Population) upkeep(encode func(time.Time) any) []table {
	ended := func(i int) time.Time { return p.Now.Add(-time.Hour).Add(time.Duration(i) * time.Millisecond) }
	own := func(i int) []any { return []any{p.Cookie(-1 - i), ended(i).UnixMilli()} }
	return []table{
		{"{VerificationToken}", "{VerificationToken.identifier}, {VerificationToken.token}, {VerificationToken.expires}", p.Ended / 4, func(i int) []any {
			return []any{p.user(i % p.Users).Email, p.Cookie(-1 - i), encode(ended(i))}
		}, 2},
		{"authsvc_once", "id, expires", p.Ended / 4, own, 1},
		{"authsvc_permit", "id, expires", p.Ended / 4, own, 1},
	}
}
