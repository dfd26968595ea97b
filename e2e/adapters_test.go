package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
)

// shared is the part of [adapter.Adapter] that Auth.js adapters also have. Where a
// record is absent, they return null, which becomes ErrNotFound here.
type shared interface {
	CreateUser(context.Context, authsvc.User, *adapter.Revocation) (authsvc.User, error)
	GetUser(ctx context.Context, id string) (authsvc.User, error)
	GetUserByEmail(ctx context.Context, email string) (authsvc.User, error)
	GetUserByAccount(ctx context.Context, provider, providerAccountID string) (authsvc.User, error)
	UpdateUser(ctx context.Context, id string, change adapter.UserUpdate) (authsvc.User, error)
	DeleteUser(ctx context.Context, id string, r *adapter.Revocation) error
	LinkAccount(ctx context.Context, a authsvc.Account, epoch int64) (authsvc.Account, error)
	UnlinkAccount(ctx context.Context, provider, providerAccountID string, epoch int64, r *adapter.Revocation) error
	CreateSession(context.Context, adapter.SessionRecord) (adapter.SessionRecord, error)
	GetSession(ctx context.Context, token, digest string) (adapter.SessionRecord, authsvc.User, error)
	UpdateSession(context.Context, adapter.SessionRecord) error
	DeleteSession(ctx context.Context, token string) (adapter.SessionRecord, error)
	PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, maxQueued int) error
	TakeToken(ctx context.Context, identifier, token string, now time.Time) (adapter.VerificationToken, authsvc.User, error)
}

// A theirs is an Auth.js adapter in its own Node process.
type theirs struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

var _ shared = (*theirs)(nil)

// startAdapter runs stores/adapters.mjs. Its local time is not UTC, as on many
// developers' machines.
func startAdapter(t *testing.T, env []string, args ...string) *theirs {
	t.Helper()
	cmd := exec.Command("node", append([]string{"adapters.mjs"}, args...)...)
	cmd.Dir = storesDir
	cmd.Env = append(os.Environ(), append(env, "TZ=America/New_York", "NEXTAUTH_URL=http://localhost:3000")...)
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("adapters.mjs: %v\n%s", err, said.String())
		}
	})
	return &theirs{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

// call runs one method. If an answer is wanted and is null, call returns ErrNotFound.
func (a *theirs) call(answer any, op string, args ...any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	line, err := json.Marshal(map[string]any{"op": op, "args": args})
	if err != nil {
		return err
	}
	if _, err := a.in.Write(append(line, '\n')); err != nil {
		return err
	}
	got, err := a.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	var result struct {
		Value json.RawMessage
		Error string
	}
	switch err := json.Unmarshal(got, &result); {
	case err != nil:
		return fmt.Errorf("%s: %w", op, err)
	case result.Error != "":
		return fmt.Errorf("%s: %s", op, result.Error)
	case answer == nil:
		return nil
	case string(result.Value) == "null":
		return fmt.Errorf("%s: %w", op, adapter.ErrNotFound)
	}
	return json.Unmarshal(result.Value, answer)
}

// A word is a text that may be a number or null in JSON.
type word string

func (w *word) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil {
		*w = word(b)
		return nil
	}
	if s != nil {
		*w = word(*s)
	}
	return nil
}

// A jsUser is a user with the field names of Auth.js.
type jsUser struct {
	ID, Name, Email, Image word
	EmailVerified          *time.Time
}

func (u jsUser) user() authsvc.User {
	ours := authsvc.User{ID: string(u.ID), Name: string(u.Name), Email: string(u.Email), Image: string(u.Image)}
	if u.EmailVerified != nil {
		ours.EmailVerified = u.EmailVerified.UTC()
	}
	return ours
}

// orNull returns nil for the empty string.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// date returns a time in the format of JavaScript's JSON.
func date(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (a *theirs) user(op string, args ...any) (authsvc.User, error) {
	var u jsUser
	err := a.call(&u, op, args...)
	return u.user(), err
}

func (a *theirs) CreateUser(_ context.Context, u authsvc.User, _ *adapter.Revocation) (authsvc.User, error) {
	return a.user("createUser", map[string]any{"name": orNull(u.Name), "email": orNull(u.Email),
		"emailVerified": date(u.EmailVerified), "image": orNull(u.Image)})
}

func (a *theirs) GetUser(_ context.Context, id string) (authsvc.User, error) {
	return a.user("getUser", id)
}

func (a *theirs) GetUserByEmail(_ context.Context, email string) (authsvc.User, error) {
	return a.user("getUserByEmail", email)
}

func identity(provider, id string) map[string]any {
	return map[string]any{"provider": provider, "providerAccountId": id}
}

func (a *theirs) GetUserByAccount(_ context.Context, provider, id string) (authsvc.User, error) {
	return a.user("getUserByAccount", identity(provider, id))
}

func (a *theirs) UpdateUser(_ context.Context, id string, change adapter.UserUpdate) (authsvc.User, error) {
	fields := map[string]any{"id": id}
	for name, value := range map[string]*string{"name": change.Name, "email": change.Email, "image": change.Image} {
		if value != nil {
			fields[name] = orNull(*value)
		}
	}
	if change.EmailVerified != nil {
		fields["emailVerified"] = date(*change.EmailVerified)
	}
	return a.user("updateUser", fields)
}

func (a *theirs) DeleteUser(_ context.Context, id string, _ *adapter.Revocation) error {
	return a.call(nil, "deleteUser", id)
}

func (a *theirs) LinkAccount(_ context.Context, c authsvc.Account, _ int64) (authsvc.Account, error) {
	fields := identity(c.Provider, c.ProviderAccountID)
	fields["userId"], fields["type"], fields["expires_at"] = c.UserID, c.Type, c.ExpiresAt
	for name, value := range map[string]string{"refresh_token": c.RefreshToken, "access_token": c.AccessToken,
		"token_type": c.TokenType, "scope": c.Scope, "id_token": c.IDToken, "session_state": c.SessionState} {
		fields[name] = orNull(value)
	}
	return c, a.call(nil, "linkAccount", fields)
}

func (a *theirs) UnlinkAccount(_ context.Context, provider, id string, _ int64, _ *adapter.Revocation) error {
	return a.call(nil, "unlinkAccount", identity(provider, id))
}

func (a *theirs) CreateSession(_ context.Context, s adapter.SessionRecord) (adapter.SessionRecord, error) {
	return s, a.call(nil, "createSession", map[string]any{"sessionToken": s.SessionToken, "userId": s.UserID, "expires": date(s.Expires)})
}

func (a *theirs) GetSession(_ context.Context, token, _ string) (adapter.SessionRecord, authsvc.User, error) {
	var got struct {
		Session struct {
			SessionToken, UserID word
			Expires              time.Time
		}
		User jsUser
	}
	if err := a.call(&got, "getSessionAndUser", token); err != nil {
		return adapter.SessionRecord{}, authsvc.User{}, err
	}
	s := got.Session
	return adapter.SessionRecord{SessionToken: string(s.SessionToken), UserID: string(s.UserID), Expires: s.Expires.UTC()}, got.User.user(), nil
}

func (a *theirs) UpdateSession(_ context.Context, s adapter.SessionRecord) error {
	return a.call(nil, "updateSession", map[string]any{"sessionToken": s.SessionToken, "expires": date(s.Expires)})
}

func (a *theirs) DeleteSession(_ context.Context, token string) (adapter.SessionRecord, error) {
	return adapter.SessionRecord{}, a.call(nil, "deleteSession", token)
}

func (a *theirs) PutToken(_ context.Context, v adapter.VerificationToken, _ adapter.Mail, _ int) error {
	return a.call(nil, "createVerificationToken", map[string]any{"identifier": v.Identifier, "token": v.Token, "expires": date(v.Expires)})
}

func (a *theirs) TakeToken(_ context.Context, identifier, token string, _ time.Time) (adapter.VerificationToken, authsvc.User, error) {
	var v struct {
		Identifier, Token string
		Expires           time.Time
	}
	err := a.call(&v, "useVerificationToken", map[string]any{"identifier": identifier, "token": token})
	return adapter.VerificationToken{Identifier: v.Identifier, Token: v.Token, Expires: v.Expires.UTC()}, authsvc.User{}, err
}

// absent fails on any error except ErrNotFound.
func absent(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("%s is still there, or: %v", what, err)
	}
}
