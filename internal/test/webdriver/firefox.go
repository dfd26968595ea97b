package webdriver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FirefoxNames lists the names of the program, the preferred one first.
var FirefoxNames = []string{"firefox-esr", "firefox"}

// preferences keep Firefox from calling home. They make Marionette listen on any free
// port and write the port to the profile.
const preferences = `user_pref("marionette.port", 0);
user_pref("app.update.disabledForTesting", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("browser.safebrowsing.downloads.remote.enabled", false);
`

// Firefox runs the browser, headless, until t ends. It uses proxy, "host:port", for
// all addresses except loopback.
func Firefox(t testing.TB, proxy string) *Session {
	t.Helper()
	profile := scratch(t)
	if err := os.WriteFile(filepath.Join(profile, "user.js"), []byte(preferences), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, exec.Command(program(t, FirefoxNames), "--headless", "--marionette", "--no-remote", "--profile", profile), profile)
	m := dialMarionette(t, portOf(t, profile))
	s := &Session{T: t, wire: m}
	s.do(newSession, capabilities(proxy), nil)
	t.Cleanup(func() { m.call(endSession, nil, nil) })
	return s
}

// capabilities request a browser that accepts any certificate and uses proxy,
// "host:port", for all addresses except loopback.
func capabilities(proxy string) map[string]any {
	return map[string]any{"acceptInsecureCerts": true, "pageLoadStrategy": "normal",
		"proxy": map[string]any{"proxyType": "manual", "httpProxy": proxy, "sslProxy": proxy, "noProxy": []string{"127.0.0.1", "localhost"}}}
}

// portOf waits until Firefox reports its port.
func portOf(t testing.TB, profile string) int {
	t.Helper()
	for end := time.Now().Add(2 * patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(profile, "MarionetteActivePort"))
		if port, bad := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && bad == nil {
			return port
		}
	}
	t.Fatal("Firefox does not listen")
	return 0
}

// A marionette is a connection of Marionette protocol 3: JSON arrays, each preceded
// by its length and a colon.
type marionette struct {
	conn net.Conn
	in   *bufio.Reader
	last int
}

func dialMarionette(t testing.TB, port int) *marionette {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	m := &marionette{conn: conn, in: bufio.NewReader(conn)}
	if _, err := m.read(); err != nil { // its greeting
		t.Fatal(err)
	}
	return m
}

func (m *marionette) read() ([]byte, error) {
	length, err := m.in.ReadString(':')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(length, ":"))
	if err != nil {
		return nil, err
	}
	raw := make([]byte, n)
	_, err = io.ReadFull(m.in, raw)
	return raw, err
}

func (m *marionette) call(c command, params map[string]any, into any) error {
	if params == nil {
		params = map[string]any{}
	}
	m.last++
	raw, err := json.Marshal([]any{0, m.last, "WebDriver:" + c.marionette, params})
	if err != nil {
		return err
	}
	m.conn.SetDeadline(time.Now().Add(2 * patience))
	if _, err := fmt.Fprintf(m.conn, "%d:%s", len(raw), raw); err != nil {
		return err
	}
	if raw, err = m.read(); err != nil {
		return err
	}
	var failure *struct{ Error, Message string }
	var result json.RawMessage
	if err := json.Unmarshal(raw, &[]any{new(int), new(int), &failure, &result}); err != nil {
		return err
	}
	if failure != nil {
		return fmt.Errorf("%s: %s", failure.Error, failure.Message)
	}
	return unwrap(result, into)
}

// unwrap takes a value out of its object. Lists have no object around them.
func unwrap(result json.RawMessage, into any) error {
	if into == nil {
		return nil
	}
	var wrapped struct{ Value json.RawMessage }
	if err := json.Unmarshal(result, &wrapped); err == nil && wrapped.Value != nil {
		result = wrapped.Value
	}
	return json.Unmarshal(result, into)
}
