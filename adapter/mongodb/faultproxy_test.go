package mongodb

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/internal/test/mongowire"
)

// Ways in which a faultProxy disturbs a command.
const (
	answerBefore = iota // answers with an error instead of forwarding it
	answerAfter         // answers with an error after it was executed
	cutBefore           // closes the connection instead of forwarding it
	cutAfter            // closes the connection after it was executed
	intervene           // calls a function, then forwards it
	answerLate          // answers with an error, and forwards it when arrive is called
)

// A faultProxy stands between stores and a server, and can disturb one command. It
// forwards one command at a time, so that commands on one document are atomic even on
// FerretDB.
type faultProxy struct {
	upstream string
	listener net.Listener

	one sync.Mutex // held while a command is executed

	mu    sync.Mutex
	how   int
	nth   int  // the command to disturb, counted from 1; 0: none
	down  bool // all later commands fail
	first func()
	sent  []string
	late  func()
}

func newFaultProxy(t testing.TB, upstream string) *faultProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &faultProxy{upstream: upstream, listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// failNth restarts the count and disturbs the n-th command. If down is set, all later
// commands fail too, as if the caller had been killed.
func (p *faultProxy) failNth(n, how int, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nth, p.how, p.down, p.sent = n, how, down, nil
}

// before calls first before the n-th command from now.
func (p *faultProxy) before(n int, first func()) {
	p.failNth(n, intervene, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first = first
}

// commands returns the commands since the count was restarted.
func (p *faultProxy) commands() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

func (p *faultProxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.upstream)
	if err != nil {
		return
	}
	defer server.Close()
	for {
		request, err := mongowire.ReadMessage(client)
		if err != nil {
			return
		}
		spoiled, how := p.count(request)
		if spoiled && how == intervene {
			p.first()
			spoiled = false
		}
		reply, err := p.forward(server, request, spoiled, how)
		if err != nil {
			return
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

// hold keeps a command back until arrive is called.
func (p *faultProxy) hold(server net.Conn, request []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = func() {
		p.one.Lock()
		defer p.one.Unlock()
		if _, err := server.Write(request); err == nil {
			mongowire.ReadMessage(server) //nolint:errcheck // no caller waits for it
		}
	}
}

// arrive forwards the command that was kept back.
func (p *faultProxy) arrive() {
	p.mu.Lock()
	late := p.late
	p.late = nil
	p.mu.Unlock()
	if late != nil {
		late()
	}
}

// count records a command, and returns whether and how to disturb it.
func (p *faultProxy) count(request []byte) (bool, int) {
	name := command(request)
	if slices.Contains([]string{"", "hello", "isMaster", "ismaster", "ping", "endSessions", "buildInfo"}, name) {
		return false, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, name)
	n := len(p.sent)
	if p.nth > 0 && p.down && n > p.nth {
		return true, answerBefore
	}
	return n == p.nth, p.how
}

func (p *faultProxy) forward(server net.Conn, request []byte, spoiled bool, how int) (reply []byte, err error) {
	if !spoiled || how == answerAfter || how == cutAfter {
		p.one.Lock()
		if _, err = server.Write(request); err == nil {
			reply, err = mongowire.ReadMessage(server)
		}
		p.one.Unlock()
	}
	if !spoiled || err != nil {
		return reply, err
	}
	if how == answerLate {
		p.hold(server, request)
	}
	if how == cutBefore || how == cutAfter {
		return nil, io.ErrUnexpectedEOF
	}
	return failure(request), nil
}

// command returns the name of the command in an OP_MSG, or "".
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

// failure returns an error response to a command.
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
