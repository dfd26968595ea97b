package webdriver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/freeport"
)

// WebKitName is the program that drives WebKit. [WebKitScreen] provides the screen
// for its window.
const (
	WebKitName   = "WebKitWebDriver"
	WebKitScreen = "Xvfb"
)

// MiniBrowser returns the path of the browser that comes with WebKitWebDriver, or "".
func MiniBrowser() string {
	found, _ := filepath.Glob("/usr/lib/*/webkit2gtk-4.*/MiniBrowser") // the pattern is well-formed
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// WebKit runs the browser on its own screen until t ends. It uses proxy, "host:port",
// for all addresses except loopback.
func WebKit(t testing.TB, proxy string) *Session {
	t.Helper()
	dir := scratch(t)
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	driver := exec.Command(program(t, []string{WebKitName}), fmt.Sprintf("--port=%d", port))
	driver.Env = append(os.Environ(), "DISPLAY="+screen(t), "GDK_BACKEND=x11", "LIBGL_ALWAYS_SOFTWARE=1", "WEBKIT_DISABLE_COMPOSITING_MODE=1")
	run(t, driver, dir)
	h := &overHTTP{base: fmt.Sprintf("http://127.0.0.1:%d/session", port)}
	s := &Session{T: t, wire: h}
	asked := map[string]any{"acceptInsecureCerts": true, "webkitgtk:browserOptions": map[string]any{"binary": MiniBrowser(),
		// With the capability proxy, the browser would use TLS to the proxy for
		// https.
		"args": []string{"--automation", "--proxy=http://" + proxy, "--ignore-host=127.0.0.1", "--ignore-host=localhost"}}}
	var made struct{ SessionID string }
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err = h.call(newSession, map[string]any{"capabilities": map[string]any{"alwaysMatch": asked}}, &made)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("WebKit does not start: %v", err)
		}
	}
	h.base += "/" + made.SessionID
	t.Cleanup(func() { h.call(endSession, nil, nil) })
	return s
}

// screen starts an X server without a physical screen and returns its name.
func screen(t testing.TB) string {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := exec.Command(program(t, []string{WebKitScreen}), "-displayfd", "3", "-screen", "0", "1280x1024x24", "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{out}
	run(t, cmd, scratch(t))
	out.Close()
	in.SetReadDeadline(time.Now().Add(patience))
	number, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb does not start: %v", err)
	}
	return ":" + strings.TrimSpace(number)
}

// overHTTP is a wire that speaks WebDriver over HTTP.
type overHTTP struct{ base string }

func (h *overHTTP) call(c command, params map[string]any, into any) error {
	id, _ := params["id"].(string)
	if params == nil {
		params = map[string]any{}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	var body io.Reader
	if c.method == http.MethodPost {
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(c.method, h.base+strings.Replace(c.path, "{id}", id, 1), body)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Timeout: 2 * patience}).Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var answer struct{ Value json.RawMessage }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %.300s", res.StatusCode, answer.Value)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, into)
}
