package counts_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/internal/test/mongowire"
)

// A postgresWire counts the extended query protocol: each execution is a statement,
// and each Sync ends a round trip, whatever it contains.
// https://www.postgresql.org/docs/current/protocol-message-formats.html
type postgresWire struct {
	sqlSession
	started bool
	texts   map[string]string // of prepared statements
	bound   string            // the portal's text
	real    bool              // the current trip is more than a ping
}

func (p *postgresWire) request(r *bufio.Reader) ([]byte, error) {
	if !p.started { // the first message has no type
		p.started = true
		return framed(r, 4, func(h []byte) int { return int(binary.BigEndian.Uint32(h)) - 4 })
	}
	return p.response(r)
}

func (*postgresWire) response(r *bufio.Reader) ([]byte, error) {
	return framed(r, 5, func(h []byte) int { return int(binary.BigEndian.Uint32(h[1:])) - 4 })
}

func (p *postgresWire) asked(m []byte, n *figures) {
	if p.texts == nil { // part of the startup
		p.texts = map[string]string{}
		return
	}
	name, rest, _ := bytes.Cut(m[5:], []byte{0})
	switch m[0] {
	case 'P':
		text, _, _ := bytes.Cut(rest, []byte{0})
		p.texts[string(name)], p.real = string(text), true
	case 'B':
		statement, _, _ := bytes.Cut(rest, []byte{0})
		p.bound = p.texts[string(statement)]
	case 'E':
		p.real = !p.statement(p.bound, n) || p.real
	case 'Q':
		if !p.statement(string(name), n) {
			n.trips++
		}
	case 'S':
		if p.real {
			n.trips++
		}
		p.real = false
	case 'H': // a flush: the client waits before the Sync
		n.trips++
	}
}

func (*postgresWire) answered([]byte, *figures) {}

// A mysqlWire counts commands; each waits for its answer.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase.html
type mysqlWire struct {
	sqlSession
	texts    map[uint32]string // of prepared statements
	prepares string            // text of the statement that the next answer is for
}

func (*mysqlWire) request(r *bufio.Reader) ([]byte, error) {
	return framed(r, 4, func(h []byte) int { return int(h[0]) | int(h[1])<<8 | int(h[2])<<16 })
}

func (w *mysqlWire) response(r *bufio.Reader) ([]byte, error) { return w.request(r) }

// The MySQL commands.
const (
	comQuery       = 0x03
	comPrepare     = 0x16
	comExecute     = 0x17
	comSendLong    = 0x18
	comStmtClose   = 0x19
	comQuit        = 0x01
	mysqlNoCommand = 1 // from this packet number on, a packet belongs to a login
)

func (w *mysqlWire) asked(m []byte, n *figures) {
	if m[3] >= mysqlNoCommand || len(m) < 5 {
		return
	}
	pings := false
	switch m[4] {
	case comQuit, comStmtClose, comSendLong: // these have no answer
		return
	case comQuery:
		pings = w.statement(string(m[5:]), n)
	case comPrepare:
		w.prepares = string(m[5:])
	case comExecute:
		pings = w.statement(w.texts[binary.LittleEndian.Uint32(m[5:])], n)
	}
	if !pings {
		n.trips++
	}
}

func (w *mysqlWire) answered(m []byte, _ *figures) {
	if w.prepares == "" {
		return
	}
	if len(m) >= 9 && m[4] == 0 {
		if w.texts == nil {
			w.texts = map[uint32]string{}
		}
		w.texts[binary.LittleEndian.Uint32(m[5:])] = w.prepares
	}
	w.prepares = ""
}

// A redisWire counts commands. The first command after an answer starts a round trip.
// https://redis.io/docs/latest/develop/reference/protocol-spec/
type redisWire struct{ waits bool }

func (*redisWire) request(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil || line[0] != '*' {
		return nil, io.ErrUnexpectedEOF
	}
	parts, err := number(line)
	for range parts {
		if err != nil {
			return nil, err
		}
		var size []byte
		if size, err = r.ReadBytes('\n'); err != nil {
			return nil, err
		}
		var length int
		if length, err = number(size); err != nil {
			return nil, err
		}
		part := make([]byte, length+len("\r\n"))
		_, err = io.ReadFull(r, part)
		line = append(append(line, size...), part...)
	}
	return line, err
}

// number returns the number in a line such as *3.
func number(line []byte) (int, error) {
	return strconv.Atoi(strings.TrimSpace(string(line[1:])))
}

func (*redisWire) response(r *bufio.Reader) ([]byte, error) { return whatThereIs(r) }

func (w *redisWire) asked(_ []byte, n *figures) {
	n.statements++
	if !w.waits {
		n.trips++
	}
	w.waits = true
}

// answered reverts the count of a call that failed because another test made the
// server forget its scripts.
func (w *redisWire) answered(m []byte, n *figures) {
	w.waits = false
	if bytes.HasPrefix(m, []byte("-NOSCRIPT")) {
		n.statements--
		n.trips--
	}
}

// A mongoWire counts commands; each waits for its answer. It ignores commands with
// which the driver monitors the server and manages its sessions.
// https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
type mongoWire struct{}

func (mongoWire) request(r *bufio.Reader) ([]byte, error)  { return mongowire.ReadMessage(r) }
func (mongoWire) response(r *bufio.Reader) ([]byte, error) { return mongowire.ReadMessage(r) }
func (mongoWire) answered([]byte, *figures)                {}

func (mongoWire) asked(m []byte, n *figures) {
	const opMessage, header = 2013, 21
	if len(m) < header+4 || binary.LittleEndian.Uint32(m[12:]) != opMessage || m[header-1] != 0 {
		return
	}
	length := int(binary.LittleEndian.Uint32(m[header:]))
	if header+length > len(m) {
		return
	}
	elements, err := bson.Raw(m[header : header+length]).Elements()
	if err != nil || len(elements) == 0 {
		return
	}
	command := elements[0].Key()
	if slices.Contains([]string{"hello", "isMaster", "ismaster", "ping", "endSessions", "buildInfo"}, command) {
		return
	}
	n.statements++
	n.trips++
	if slices.Contains([]string{"insert", "update", "delete", "findAndModify"}, command) {
		n.commits++
	}
}
