package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/text/plainlog"
)

// find returns the user with an ID or an address. An address may be written as it is
// stored or in another case. If the text stands for several users, find returns an
// error.
func (p *people) find(who string) (authsvc.User, error) {
	found := map[string]authsvc.User{}
	keep := func(u authsvc.User, err error) error {
		switch {
		case errors.Is(err, adapter.ErrNotFound):
			return nil
		case err == nil:
			found[u.ID] = u
		}
		return err
	}
	err := keep(p.adapter.GetUser(p.ctx, who))
	if err == nil && strings.Contains(who, "@") {
		err = keep(p.adapter.GetUserByEmail(p.ctx, who))
		if normal, bad := authsvc.NormaliseEmail(who); err == nil && bad == nil && normal != who {
			err = keep(p.adapter.GetUserByEmail(p.ctx, normal))
		}
	}
	names := []string{}
	var u authsvc.User
	for _, u = range found {
		names = append(names, nameOf(u))
	}
	switch {
	case err != nil:
		return authsvc.User{}, err
	case len(found) == 0:
		return authsvc.User{}, noSuchUser(who)
	case len(found) > 1:
		slices.Sort(names)
		return authsvc.User{}, fmt.Errorf("%q means %d users: %s; name one by an id or an address that no other has", truncate(who), len(found), strings.Join(names, ", "))
	}
	return u, nil
}

// noSuchUser is the error of find for a user who is not in the store.
type noSuchUser string

// Error implements error. It names the user that was asked for.
func (who noSuchUser) Error() string {
	return fmt.Sprintf("there is no user with the id or the address %q; `authsvc users list` shows all", truncate(string(who)))
}

// noteList says, after a list that ends with q.After, why it may lack users.
func (p *people) noteList(c usersList, q adapter.UserQuery) error {
	if lower := strings.ToLower(c.Prefix); q.After == "" && lower != c.Prefix {
		fmt.Fprintf(p.stderr, "note: authsvc stores addresses in lower case: try --prefix %q\n", lower)
	}
	if c.Limit == 0 || q.After == "" {
		return nil
	}
	q.Limit = 1
	next, err := p.adapter.SearchUsers(p.ctx, q)
	if len(next) > 0 {
		fmt.Fprintln(p.stderr, "note: there are more; --limit 0 shows all")
	}
	return err
}

// nameOf returns the ID and the address of a user, for people.
func nameOf(u authsvc.User) string {
	if u.Email == "" {
		return plainlog.Text(u.ID)
	}
	return plainlog.Text(u.ID) + " (" + plainlog.Text(u.Email) + ")"
}

// An actedLine is the JSON form of a user after a command.
type actedLine struct {
	userLine
	Deleted bool `json:"deleted,omitempty"`
	DryRun  bool `json:"dryRun,omitempty"`
}
