package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// A mailSink is a mail server that accepts every mail immediately. It keeps only the
// link of each mail, until the link is fetched.
type mailSink struct {
	listener net.Listener
	mu       sync.Mutex
	links    map[string]chan string // by address
}

func listenMail() (*mailSink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &mailSink{listener: l, links: map[string]chan string{}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s, nil
}

func (s *mailSink) addr() string { return s.listener.Addr().String() }

// box returns the channel that receives the links for an address.
func (s *mailSink) box(address string) chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	box, ok := s.links[address]
	if !ok {
		box = make(chan string, 1)
		s.links[address] = box
	}
	return box
}

// link waits for the link for an address.
func (s *mailSink) link(address string) (string, error) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.links, address)
	}()
	select {
	case link := <-s.box(address):
		return link, nil
	case <-time.After(patience):
		return "", fmt.Errorf("no mail for %s", address)
	}
}

// serve speaks as much SMTP as a sender needs (RFC 5321).
func (s *mailSink) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	to := ""
	for answer := "220 localhost\r\n"; ; {
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		answer = "250 ok\r\n"
		switch verb := strings.ToUpper(line[:min(4, len(line))]); verb {
		case "EHLO":
			answer = "250-localhost\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n"
		case "RCPT":
			_, after, _ := strings.Cut(line, "<")
			to, _, _ = strings.Cut(after, ">")
		case "DATA":
			if _, err := conn.Write([]byte("354 go on\r\n")); err != nil {
				return
			}
			link, err := readMail(in)
			if err != nil {
				return
			}
			s.box(to) <- link
		case "QUIT":
			_, _ = conn.Write([]byte("221 bye\r\n"))
			return
		}
	}
}

// quotedPrintable reverses the encoding of a link.
var quotedPrintable = strings.NewReplacer("=\r\n", "", "=3D", "=", "=3d", "=")

// readMail reads one mail and returns its first link.
func readMail(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		if line == ".\r\n" {
			break
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
	_, link, ok := strings.Cut(quotedPrintable.Replace(b.String()), "http://")
	if !ok {
		return "", errors.New("a mail without a link")
	}
	end := strings.IndexAny(link, " \r\n\"<>")
	if end < 0 {
		return "", errors.New("a mail without a whole link")
	}
	return "http://" + link[:end], nil
}
