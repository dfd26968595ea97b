package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// A typist is a terminal with a person who types.
type typist struct {
	io.Reader
	mode fs.FileMode
}

func (t typist) Stat() (fs.FileInfo, error) {
	return fs.Stat(fstest.MapFS{"tty": {Mode: t.mode}}, "tty")
}

// TestConfirm: an irreversible action requires a yes at a terminal, or --yes.
func TestConfirm(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	const terminal = fs.ModeDevice | fs.ModeCharDevice
	for name, c := range map[string]struct {
		in                     io.Reader
		flag, asked, done, use bool
	}{
		"y":            {in: typist{strings.NewReader("y\n"), terminal}, asked: true, done: true},
		"Yes":          {in: typist{strings.NewReader(" Yes \n"), terminal}, asked: true, done: true},
		"enter":        {in: typist{strings.NewReader("\n"), terminal}, asked: true},
		"no":           {in: typist{strings.NewReader("n\ny\n"), terminal}, asked: true},
		"end of input": {in: typist{strings.NewReader(""), terminal}, asked: true},
		"null device":  {in: null, asked: true},
		"pipe":         {in: typist{strings.NewReader("y\n"), fs.ModeNamedPipe}, use: true},
		"file":         {in: typist{strings.NewReader("y\n"), 0}, use: true},
		"no file":      {in: strings.NewReader("y\n"), use: true},
		"flag":         {in: strings.NewReader(""), flag: true, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			p := &program{stdin: c.in, stderr: &out}
			err := p.confirm("Really?", c.flag)
			if (err == nil) != c.done || errors.Is(err, errUsage) != c.use || strings.Contains(out.String(), "Really? [y/N]") != c.asked {
				t.Errorf("%v, asked: %q", err, out.String())
			}
		})
	}
}
