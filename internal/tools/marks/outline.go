package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// grid is how many steps a unit of the drawing has in what is written. The 24
// units of a drawing are 16 CSS pixels on the page, so that a point is off by a
// fifteenth of the pixels of a good screen at most.
const grid = 10

// A segment is one drawing command with absolute coordinates.
type segment struct {
	command byte      // lower case, of SVG 2 section 9.3
	args    []float64 // as the command has them, but absolute
}

// arity is how many numbers a command takes.
var arity = map[byte]int{'m': 2, 'l': 2, 'h': 1, 'v': 1, 'c': 6, 's': 4, 'q': 4, 't': 2, 'a': 7, 'z': 0}

// shorten writes path data with coordinates on the grid. Each point is rounded
// by itself, not each step to the next, so that errors do not add up.
func shorten(d string) (string, error) {
	segments, err := parsePath(d)
	if err != nil {
		return "", err
	}
	return writePath(segments), nil
}

// A scanner reads path data.
type scanner struct{ rest string }

func (s *scanner) space() { s.rest = strings.TrimLeft(s.rest, " \t\r\n,") }

// command returns the letter that comes next, or 0.
func (s *scanner) command() byte {
	s.space()
	if s.rest == "" || arity[s.rest[0]|0x20] == 0 && s.rest[0]|0x20 != 'z' {
		return 0
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	return c
}

// flag returns a flag of an arc, which needs nothing around it.
func (s *scanner) flag() (float64, error) {
	s.space()
	if s.rest == "" || s.rest[0] != '0' && s.rest[0] != '1' {
		return 0, fmt.Errorf("no flag at %.20q", s.rest)
	}
	f := float64(s.rest[0] - '0')
	s.rest = s.rest[1:]
	return f, nil
}

func (s *scanner) number() (float64, error) {
	s.space()
	end, dot := 0, false
	for i, c := range []byte(s.rest) {
		sign := (c == '-' || c == '+') && (i == 0 || s.rest[i-1]|0x20 == 'e')
		if c == '.' && !dot {
			dot = true
		} else if !sign && c|0x20 != 'e' && (c < '0' || c > '9') {
			break
		}
		end = i + 1
	}
	f, err := strconv.ParseFloat(s.rest[:end], 64)
	s.rest = s.rest[end:]
	return f, err
}

// parsePath reads path data.
func parsePath(d string) ([]segment, error) {
	s := &scanner{d}
	var list []segment
	var x, y, startX, startY float64
	var last byte
	for s.space(); s.rest != ""; s.space() {
		letter := s.command()
		switch {
		case letter == 0 && (last == 0 || last|0x20 == 'z'):
			return nil, fmt.Errorf("no command at %.20q", s.rest)
		case letter == 0 && last|0x20 == 'm': // more points of a move are lines
			letter = last - 'm' + 'l'
		case letter == 0:
			letter = last
		}
		last = letter
		seg := segment{command: letter | 0x20}
		for i := range arity[seg.command] {
			read := s.number
			if seg.command == 'a' && (i == 3 || i == 4) {
				read = s.flag
			}
			n, err := read()
			if err != nil {
				return nil, err
			}
			seg.args = append(seg.args, n)
		}
		if letter >= 'a' {
			seg.move(x, y)
		}
		switch seg.command {
		case 'z':
			x, y = startX, startY
		case 'h':
			x = seg.args[0]
		case 'v':
			y = seg.args[0]
		default:
			x, y = seg.args[len(seg.args)-2], seg.args[len(seg.args)-1]
		}
		if seg.command == 'm' {
			startX, startY = x, y
		}
		list = append(list, seg)
	}
	if len(list) == 0 || list[0].command != 'm' {
		return nil, errors.New("path data does not begin with a move")
	}
	return list, nil
}

// coordinates says for each number of a command whether it is an x, a y, or
// neither, which is the case for radii, angle and flags of an arc.
func (s segment) coordinates() string {
	switch s.command {
	case 'v':
		return "y"
	case 'a':
		return "-----xy"
	}
	return "xyxyxy"[:len(s.args)]
}

// move makes relative coordinates absolute.
func (s segment) move(x, y float64) {
	for i, kind := range s.coordinates() {
		switch kind {
		case 'x':
			s.args[i] += x
		case 'y':
			s.args[i] += y
		}
	}
}

// writePath writes segments with relative coordinates.
func writePath(list []segment) string {
	var b strings.Builder
	var x, y, startX, startY int
	var last byte
	for _, s := range list {
		implied := s.command == last && last != 'm' && last != 'z' || s.command == 'l' && last == 'm'
		last = s.command
		if !implied {
			b.WriteByte(s.command)
		}
		first, nextX, nextY := !implied, x, y
		for i, kind := range s.coordinates() {
			text := ""
			switch kind {
			case 'x':
				nextX = onGrid(s.args[i])
				text = decimal(nextX - x)
			case 'y':
				nextY = onGrid(s.args[i])
				text = decimal(nextY - y)
			default:
				text = decimal(onGrid(s.args[i]))
			}
			afterFlag := s.command == 'a' && (i == 4 || i == 5)
			writeNumber(&b, text, first || afterFlag)
			first = false
		}
		x, y = nextX, nextY
		switch s.command {
		case 'm':
			startX, startY = x, y
		case 'z':
			x, y = startX, startY
		}
	}
	return b.String()
}

// writeNumber puts a space where the number would run into the one before it.
func writeNumber(b *strings.Builder, text string, apart bool) {
	if !apart && text[0] != '-' && (text[0] != '.' || !endsInFraction(b.String())) {
		b.WriteByte(' ')
	}
	b.WriteString(text)
}

// endsInFraction reports whether the number at the end has a point, so that the
// next point begins another number.
func endsInFraction(s string) bool {
	return strings.Contains(s[strings.LastIndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })+1:], ".")
}

func onGrid(f float64) int { return int(math.Round(f * grid)) }

// decimal writes a number of steps in units, without needless zeros.
func decimal(steps int) string {
	s := strconv.FormatFloat(float64(steps)/grid, 'f', -1, 64)
	return strings.Replace(strings.TrimPrefix(s, "0"), "-0.", "-.", 1) + map[bool]string{true: "0"}[steps == 0]
}
