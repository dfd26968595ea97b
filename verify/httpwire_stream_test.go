package verify

import (
	"io"
	"strings"
)

// repeat returns a reader of n copies of a text.
func repeat(text string, n int) io.Reader { return &repeated{text: text, left: n} }

type repeated struct {
	text string
	left int // copies
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:])
	if r.at += n; r.at == len(r.text) {
		r.at, r.left = 0, r.left-1
	}
	return n, nil
}

// counted counts the bytes read.
type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// joined reads head, then rest.
type joined struct {
	head string
	rest io.Reader
}

func (j *joined) Read(p []byte) (int, error) {
	if j.head == "" {
		return j.rest.Read(p)
	}
	n, err := strings.NewReader(j.head).Read(p)
	j.head = j.head[n:]
	return n, err
}
