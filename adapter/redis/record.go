package redis

import (
	"strconv"
	"time"

	"authsvc/adapter"
)

// millis returns t in milliseconds since 1970, as Redis stores and sorts it.
func millis(t time.Time) int64 { return t.UnixMilli() }

// optional returns an optional time as text, "" for the zero time.
func optional(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(millis(t), 10)
}

// stored returns t as the store returns it.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(millis(t)).UTC()
}

// A row holds the fields of a record, in the order of script/records.lua.
type row struct{ fields []any }

// rowOf returns the row of a record in a script's answer.
func rowOf(answer any) row {
	fields, _ := answer.([]any)
	return row{fields}
}

func (r row) text(i int) string {
	if i >= len(r.fields) {
		return ""
	}
	text, _ := r.fields[i].(string)
	return text
}

func (r row) number(i int) int64 {
	n, _ := strconv.ParseInt(r.text(i), 10, 64) // written by the scripts
	return n
}

func (r row) time(i int) time.Time {
	if r.text(i) == "" {
		return time.Time{}
	}
	return time.UnixMilli(r.number(i)).UTC()
}

// rows reads a list of records.
func rows[T any](list []any, read func(row) T) []T {
	var records []T
	for _, fields := range list {
		records = append(records, read(rowOf(fields)))
	}
	return records
}

func userFields(u adapter.User) []any {
	return []any{u.ID, u.Name, u.Email, optional(u.EmailVerified), u.Image}
}

func (r row) user() adapter.User {
	return adapter.User{ID: r.text(0), Name: r.text(1), Email: r.text(2), EmailVerified: r.time(3), Image: r.text(4),
		Epoch: r.number(5), SessionEpoch: r.number(6), Blocked: r.time(7), DeleteAfter: r.time(8), Locale: r.text(9)}
}

func accountFields(a adapter.Account) []any {
	return []any{a.ID, a.UserID, a.Type, a.Provider, a.ProviderAccountID, a.RefreshToken, a.AccessToken, a.ExpiresAt,
		a.TokenType, a.Scope, a.IDToken, a.SessionState}
}

func (r row) account() adapter.Account {
	return adapter.Account{ID: r.text(0), UserID: r.text(1), Type: r.text(2), Provider: r.text(3), ProviderAccountID: r.text(4),
		RefreshToken: r.text(5), AccessToken: r.text(6), ExpiresAt: r.number(7), TokenType: r.text(8), Scope: r.text(9),
		IDToken: r.text(10), SessionState: r.text(11)}
}

func sessionFields(s adapter.SessionRecord) []any {
	return []any{s.SessionToken, s.ID, s.Digest, s.UserID, millis(s.Expires), optional(s.Began), s.Provider, s.Epoch, string(s.Claims),
		s.AMR, optional(s.SecondAt), optional(s.Seen), s.Agent, s.Network, s.Client, s.Actor, optional(s.AuthTime)}
}

func (r row) session() adapter.SessionRecord {
	s := adapter.SessionRecord{SessionToken: r.text(0), ID: r.text(1), Digest: r.text(2), UserID: r.text(3),
		Expires: r.time(4), Began: r.time(5), Provider: r.text(6), Epoch: r.number(7), Seen: r.time(11), AuthTime: r.time(16),
		SessionOrigin: adapter.SessionOrigin{AMR: r.text(9), SecondAt: r.time(10), Agent: r.text(12), Network: r.text(13), Client: r.text(14), Actor: r.text(15)}}
	if claims := r.text(8); claims != "" {
		s.Claims = []byte(claims)
	}
	return s
}

func (r row) person() adapter.Person {
	return adapter.Person{Blocked: r.time(0), BlockedWhy: r.text(1), DeleteAfter: r.time(2), SecondStep: r.text(3) == "1",
		RecoverAfter: r.time(4), Locale: r.text(5)}
}

func credentialFields(c adapter.Credential) []any {
	return []any{string(c.Kind), c.ID, c.UserID, c.Name, string(c.Data), c.Version, c.Tries, optional(c.Created), optional(c.Used), optional(c.Expires)}
}

func (r row) credential() adapter.Credential {
	c := adapter.Credential{Kind: adapter.CredentialKind(r.text(0)), ID: r.text(1), UserID: r.text(2), Name: r.text(3), Version: r.number(5),
		Tries: int(r.number(6)), Created: r.time(7), Used: r.time(8), Expires: r.time(9)}
	if data := r.text(4); data != "" {
		c.Data = []byte(data)
	}
	return c
}

func (r row) link() adapter.VerificationToken {
	return adapter.VerificationToken{Token: r.text(0), Identifier: r.text(1), Expires: r.time(2)}
}

func (r row) mail() adapter.Mail {
	m := adapter.Mail{ID: r.text(0), Due: r.time(2), Expires: r.time(3), Attempts: int(r.number(4))}
	if payload := r.text(1); payload != "" {
		m.Payload = []byte(payload)
	}
	return m
}

// revocationFields returns the script arguments for r. They are empty if r is nil.
func revocationFields(r *adapter.Revocation) []any {
	if r == nil {
		return []any{"", "", "", ""}
	}
	return []any{r.Key, r.UserID, millis(r.NotBefore), millis(r.Expires)}
}
