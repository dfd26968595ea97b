package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"authsvc/internal/test/scale"
)

// A space is the room that records take in a store, including indexes.
type space struct {
	Store   string
	User    float64 // bytes per user with two accounts, without sessions
	Session float64 // bytes
}

// measureSpace fills stores with few and many users and sessions.
func (b *bench) measureSpace(ctx context.Context) error {
	for _, kind := range []string{onSQLite, onPostgres, onRedis} {
		users := 20_000
		if kind == onRedis { // filled one record at a time
			users = 2000
		}
		name := "space, " + kind
		if !b.only.MatchString(name) {
			continue
		}
		one, err := b.space(ctx, kind, users)
		if err != nil {
			if err = b.leftOut(name, err); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		one.print(os.Stdout)
		b.results.Space = append(b.results.Space, one)
	}
	return nil
}

func (b *bench) space(ctx context.Context, kind string, users int) (*space, error) {
	const sessions = 5
	var sizes [3]float64
	for i, p := range []scale.Population{
		{Users: 1, Accounts: 2, Sessions: 1}, {Users: users, Accounts: 2, Sessions: 1}, {Users: users, Accounts: 2, Sessions: sessions},
	} {
		p.Seed, p.Now = 1, b.now
		s, err := b.openPopulation(ctx, kind, p)
		if err != nil {
			return nil, err
		}
		sizes[i], err = s.size(ctx)
		s.close()
		if err != nil {
			return nil, err
		}
	}
	const mib = 1 << 20
	session := (sizes[2] - sizes[1]) * mib / float64(users*(sessions-1))
	return &space{Store: kind, User: (sizes[1]-sizes[0])*mib/float64(users) - session, Session: session}, nil
}

func (s *space) print(w io.Writer) {
	fmt.Fprintf(w, "\nspace, %s: %.0f bytes for a user with two accounts, %.0f for a session\n", s.Store, s.User, s.Session)
}

// spaceTable has a row for each store.
func (r *results) spaceTable() string {
	if len(r.Space) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| bytes, indexes included | a user with two accounts | a session |\n|---|--:|--:|\n")
	for _, s := range r.Space {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f |\n", s.Store, s.User, s.Session)
	}
	return b.String()
}

// Behaviour of people, for peopleTable. docs/performance.md states the same numbers.
const (
	sessionsEach = 2.0
	activeShare  = 0.1           // share of people active in the busiest hour
	askEvery     = 60.0          // seconds between requests of an active person
	signInEvery  = 30 * 86_400.0 // seconds between sign-ins of a person
	signInPeak   = 5             // the busiest hour has this many times the mean
)

// peopleTable lists what people cost: space by store, and cores loaded to servedShare
// of saturation.
func (r *results) peopleTable() string {
	jwt, postgres, signIn := r.rate("session, jwt"), r.rate("session, PostgreSQL"), r.rate("sign-in by OpenID Connect, PostgreSQL")
	if len(r.Space) == 0 || jwt*postgres*signIn == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| people | GET /session /s | cores, jwt | cores, PostgreSQL | sign-ins /s | cores |")
	for _, s := range r.Space {
		b.WriteString(" " + s.Store + " |")
	}
	b.WriteString("\n|--:|--:|--:|--:|--:|--:|" + strings.Repeat("--:|", len(r.Space)) + "\n")
	for _, people := range []float64{1e3, 1e6, 1e8} {
		asks, signIns := people*activeShare/askEvery, people/signInEvery*signInPeak
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |", number(people), number(asks), cores(asks, jwt), cores(asks, postgres), number(signIns), cores(signIns, signIn))
		for _, s := range r.Space {
			b.WriteString(" " + amount(people*(s.User+sessionsEach*s.Session)) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// rate returns the median of the comparison whose name starts so, or 0.
func (r *results) rate(name string) float64 {
	for _, c := range r.Comparisons {
		if strings.HasPrefix(c.Name, name) {
			return medianOf(c.Service, func(s sample) float64 { return s.Rate })
		}
	}
	return 0
}

// cores returns how many cores are needed if each is loaded to servedShare at most.
func cores(wanted, saturation float64) string {
	n := wanted / (servedShare * saturation)
	if n < 0.01 {
		return "< 0.01"
	}
	return number(n)
}

// amount formats a number of bytes briefly.
func amount(bytes float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if bytes < 1024 {
			return number(bytes) + " " + unit
		}
		bytes /= 1024
	}
	return number(bytes) + " TiB"
}
