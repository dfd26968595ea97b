package mongodb

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// How a gate spoils a command.
const (
	answerBefore = iota // with an error, not having passed it on
	answerAfter         // with an error, although it was done
	cutBefore           // by closing the connection, not having passed it on
	cutAfter            // by closing the connection, although it was done
	intervene           // by doing something else first; then it is passed on
)

// A gate stands between stores and a server. It lets one command through at a
// time, so that commands on one document are atomic on FerretDB too, and can
// spoil one of them.
type gate struct {
	upstream string
	listener net.Listener

	one sync.Mutex // held while a command is done

	mu       sync.Mutex
	how      int
	nth      int  // which command is spoiled, counted from 1; 0: none
	dead     bool // all after it fail
	first    func()
	commands []string
}

func newGate(t testing.TB, upstream string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{upstream: upstream, listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.serve(c)
		}
	}()
	return g
}

// spoil starts counting anew and spoils the n-th command; if dead is set, no
// later one is done either, as if the caller had been killed.
func (g *gate) spoil(n, how int, dead bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nth, g.how, g.dead, g.commands = n, how, dead, nil
}

// before has something done before the n-th command, counted from now.
func (g *gate) before(n int, first func()) {
	g.spoil(n, intervene, false)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.first = first
}

// seen returns the commands since counting began.
func (g *gate) seen() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.commands)
}

func (g *gate) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", g.upstream)
	if err != nil {
		return
	}
	defer server.Close()
	for {
		request, err := message(client)
		if err != nil {
			return
		}
		spoiled, how := g.count(request)
		if spoiled && how == intervene {
			g.first()
			spoiled = false
		}
		reply, err := g.pass(server, request, spoiled, how)
		if err != nil {
			return
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

// count notes a command and reports whether to spoil it.
func (g *gate) count(request []byte) (bool, int) {
	name := command(request)
	if slices.Contains([]string{"", "hello", "isMaster", "ismaster", "ping", "endSessions", "buildInfo"}, name) {
		return false, 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.commands = append(g.commands, name)
	n := len(g.commands)
	if g.nth > 0 && g.dead && n > g.nth {
		return true, answerBefore
	}
	return n == g.nth, g.how
}

func (g *gate) pass(server net.Conn, request []byte, spoiled bool, how int) (reply []byte, err error) {
	if !spoiled || how == answerAfter || how == cutAfter {
		g.one.Lock()
		if _, err = server.Write(request); err == nil {
			reply, err = message(server)
		}
		g.one.Unlock()
	}
	if !spoiled || err != nil {
		return reply, err
	}
	if how == cutBefore || how == cutAfter {
		return nil, io.ErrUnexpectedEOF
	}
	return failure(request), nil
}

// message reads one message of the wire protocol.
func message(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	m := make([]byte, binary.LittleEndian.Uint32(length[:]))
	copy(m, length[:])
	_, err := io.ReadFull(r, m[4:])
	return m, err
}

// command is the name of the command in an OP_MSG, or "".
func command(m []byte) string {
	if len(m) < 26 || binary.LittleEndian.Uint32(m[12:]) != 2013 || m[20] != 0 {
		return ""
	}
	length := binary.LittleEndian.Uint32(m[21:]) // another section may follow
	elements, err := bson.Raw(m[21 : 21+length]).Elements()
	if err != nil || len(elements) == 0 {
		return ""
	}
	return elements[0].Key()
}

// failure is an answer that says that a command has failed.
func failure(request []byte) []byte {
	body, err := bson.Marshal(bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: "injected fault"}, {Key: "code", Value: int32(8000)}})
	if err != nil {
		panic(err)
	}
	m := make([]byte, 21, 21+len(body))
	copy(m[8:12], request[4:8])
	binary.LittleEndian.PutUint32(m[12:], 2013)
	m = append(m, body...)
	binary.LittleEndian.PutUint32(m, uint32(len(m)))
	return m
}
