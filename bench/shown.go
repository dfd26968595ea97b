package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	_ "modernc.org/sqlite" // provides the column
)

// Settings for GET session with three more values: email_verified, a claim and a column.
// The store or the token holds them.
const (
	shownConfig = "session: {strategy: %s, claims: {groups: groups}, expose: {verified: email_verified, role: User.role, groups: claims.groups}}\n" +
		"storage: {url: %q, user_columns: [role]}\n"
	keptClaims = `{"groups":["staff","ops"]}`
)

// shownCases compare GET session with three more values to GET session without them.
func shownCases() []benchCase {
	return []benchCase{
		{name: "session with three values more, jwt", store: onSQLite, path: sessionPath, operations: 12_000, promise: promise{floor: 1.25}, prepare: prepareShown("jwt")},
		{name: "session with three values more, SQLite", store: onSQLite, path: sessionPath, operations: 10_000, promise: promise{floor: 1.25}, prepare: prepareShown("database")},
		{name: "session with three values more, PostgreSQL on the same core", store: onPostgres, path: sessionPath, operations: 4000, promise: promise{floor: 1.25}, prepare: prepareShown("database")},
	}
}

// prepareShown uses the service without the three values as the floor.
func prepareShown(strategy string) func(*bench, benchCase, *store) (*prepared, error) {
	return func(b *bench, _ benchCase, s *store) (*prepared, error) {
		if err := s.addRoles(context.Background()); err != nil {
			return nil, err
		}
		plain, shown := load{path: sessionPath, conns: b.conns, dir: b.dir, cookies: s.cookies()}, load{}
		shown = plain
		compat := ""
		if strategy == "jwt" {
			compat = "compat: next-auth-v4\n"
			var err error
			ours := map[string]any{"sid": "00000000-0000-4000-8000-000000000000", "auth_time": time.Now().Unix(), "authsvc_epoch": 0} // begun here, so that it keeps its columns
			if plain.cookies, err = jweCookies(ours); err != nil {
				return nil, err
			}
			ours["authsvc_session"] = map[string]any{"claims": json.RawMessage(keptClaims), "columns": map[string]any{"role": "admin"}}
			if shown.cookies, err = jweCookies(ours); err != nil {
				return nil, err
			}
		}
		without := compat + fmt.Sprintf("session: {strategy: %s}\nstorage: {url: %q}\n", strategy, s.url)
		return &prepared{
			config: compat + fmt.Sprintf(shownConfig, strategy, s.url),
			floor:  func(ctx context.Context) (*server, error) { return b.serve(ctx, without) },
			runs: func(service, floor *server) (runs [2]loader, err error) {
				return [2]loader{shown, plain}, moreIsShown(service, floor, shown.cookies[0], plain.cookies[0])
			},
		}, nil
	}
}

// moreIsShown checks that the service answers with the three values and the floor
// does not.
func moreIsShown(service, floor *server, shown, plain string) error {
	got, err := service.get(sessionPath, shown)
	if err != nil {
		return err
	}
	bare, err := floor.get(sessionPath, plain)
	if err != nil {
		return err
	}
	for _, value := range []string{`"groups":["staff","ops"]`, `"role":"admin"`, `"verified":`} {
		if !strings.Contains(got, value) || strings.Contains(bare, value) {
			return fmt.Errorf("the service answers %s, and without the values %s", got, bare)
		}
	}
	return nil
}

// addRoles adds the column to the users, as an application would, and the claims to
// the sessions, as a sign-in would.
func (s *store) addRoles(ctx context.Context) error {
	statements := []string{`ALTER TABLE "User" ADD COLUMN role TEXT`, `UPDATE "User" SET role = 'admin'`, `UPDATE authsvc_session SET claims = '` + keptClaims + `'`}
	if !strings.HasPrefix(s.url, "sqlite:") {
		for _, statement := range statements {
			if err := execPostgres(ctx, s.location, statement); err != nil {
				return err
			}
		}
		return nil
	}
	db, err := sql.Open("sqlite", "file:"+s.location)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
