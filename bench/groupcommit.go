package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	_ "modernc.org/sqlite"
)

// A crowd holds the cost of sign-ins on SQLite if all links are opened at the same
// moment. Every commit in SQLite waits for the disk.
type crowd struct {
	SignIns  int
	Commits  []int           // of each round
	Took     []time.Duration // of each round, from the first link to the last answer
	Idle     []time.Duration // of each round: time in which the service did not compute
	OneWrite time.Duration   // time of a single commit
}

const (
	crowdName = "64 sign-ins at once, SQLite"
	crowdSize = 64
)

// measureCrowd counts the commits of simultaneous sign-ins.
func (b *bench) measureCrowd(ctx context.Context) (*crowd, error) {
	s, err := b.openStore(ctx, onSQLite, people, 0)
	if err != nil {
		return nil, err
	}
	defer s.close()
	n, err := listenNeighbours()
	if err != nil {
		return nil, err
	}
	defer n.close()
	service, err := b.serve(ctx, signInConfig(s.url, n))
	if err != nil {
		return nil, err
	}
	defer service.stop()
	c := &crowd{SignIns: crowdSize}
	if c.OneWrite, err = oneWrite(ctx, b.dir); err != nil {
		return nil, err
	}
	for range b.rounds + 1 { // the first round is a warm-up
		if err := c.round(ctx, service, s.location, n.mail); err != nil {
			return nil, err
		}
	}
	c.Commits, c.Took, c.Idle = c.Commits[1:], c.Took[1:], c.Idle[1:]
	return c, nil
}

// round measures one crowd. A concurrent reader keeps the write-ahead log from being
// reset.
func (c *crowd) round(ctx context.Context, service *server, file string, mail *mailSink) error {
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		return err
	}
	defer db.Close()
	reader, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer reader.Rollback()
	var users int
	if err := reader.QueryRowContext(ctx, `SELECT COUNT(*) FROM "User"`).Scan(&users); err != nil {
		return err
	}
	list, err := gather(ctx, service.addr, mail, c.SignIns)
	defer func() {
		for _, v := range list {
			v.conn.Close()
		}
	}()
	if err != nil {
		return err
	}
	before, err := commits(file)
	if err != nil {
		return err
	}
	computed, _ := service.computed()
	took, err := arriveTogether(list)
	if err != nil {
		return err
	}
	computed2, _ := service.computed()
	idle := took - (computed2 - computed)
	after, err := commits(file)
	if err != nil {
		return err
	}
	c.Commits, c.Took, c.Idle = append(c.Commits, after-before), append(c.Took, took), append(c.Idle, max(idle, 0))
	return nil
}

// median returns the median number of commits in a round.
func (c *crowd) median() int {
	return slices.Sorted(slices.Values(c.Commits))[len(c.Commits)/2]
}

func (c *crowd) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %d commits (%d to %d), each %s by itself; all done in %s, of which the service was idle for %s\n", crowdName,
		c.median(), slices.Min(c.Commits), slices.Max(c.Commits), round(c.OneWrite), round(median(c.Took)), round(median(c.Idle)))
}

// A returning person is about to open the link of a mail.
type returning struct {
	*visitor
	callback string
}

// gather sends links to people.
func gather(ctx context.Context, addr string, mail *mailSink, people int) (list []returning, err error) {
	for range people {
		v, err := visit(ctx, addr)
		if err != nil {
			return list, err
		}
		list = append(list, returning{visitor: v})
		link, err := askForLink(v, mail, nextPerson())
		if err != nil {
			return list, err
		}
		list[len(list)-1].callback = link
	}
	return list, nil
}

// arriveTogether opens all links at once and returns how long the last person waited.
func arriveTogether(list []returning) (time.Duration, error) {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	begun := time.Now()
	for i, v := range list {
		wg.Go(func() { _, errs[i] = v.get(v.callback) })
	}
	wg.Wait()
	took := time.Since(begun)
	for _, v := range list {
		if v.cookies[sessionCookie] == "" {
			errs = append(errs, errors.New("a visitor arrived without a session"))
		}
	}
	return took, errors.Join(errs...)
}

// commits counts the commits in the write-ahead log of a SQLite file. The log has a
// header of 32 bytes, with the page size and a salt, then frames of 24 bytes and a
// page each. Frames that end a transaction hold the size of the database
// (https://sqlite.org/fileformat2.html).
func commits(file string) (n int, err error) {
	text, err := os.ReadFile(file + "-wal") // #nosec G304 -- of this program's own making
	if err != nil || len(text) < 32 {
		return 0, err
	}
	page, salt := int(binary.BigEndian.Uint32(text[8:])), text[16:24]
	for at := 32; at+24+page <= len(text); at += 24 + page {
		if !bytes.Equal(text[at+8:at+16], salt) {
			break // left over from an earlier log
		}
		if binary.BigEndian.Uint32(text[at+4:]) > 0 {
			n++
		}
	}
	return n, nil
}

// oneWrite measures one durable commit on this disk.
func oneWrite(ctx context.Context, dir string) (time.Duration, error) {
	file := filepath.Join(dir, "one-write.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS t (n TEXT)"); err != nil {
		return 0, err
	}
	var all []time.Duration
	for i := range 100 {
		begun := time.Now()
		if _, err := db.ExecContext(ctx, "INSERT INTO t VALUES (?)", strconv.Itoa(i)); err != nil {
			return 0, err
		}
		all = append(all, time.Since(begun))
	}
	return median(all), nil
}
