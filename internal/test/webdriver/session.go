// Package webdriver drives Firefox and WebKit in tests with the commands of W3C
// WebDriver. It talks HTTP to WebKitWebDriver, and Marionette, the protocol inside
// Firefox, to Firefox.
package webdriver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// patience limits the wait for a condition.
const patience = time.Minute

// A Session is a browser with an empty profile and one window. Its methods end the
// test if a step fails.
type Session struct {
	T    testing.TB
	wire wire
}

// A wire carries commands to a browser.
type wire interface {
	// call runs a command and stores its value in the variable that into points to,
	// if not nil.
	call(c command, params map[string]any, into any) error
}

// A command is a WebDriver command: its method and its path below the session, in
// which {id} stands for the parameter id. Marionette has its own name for each
// command.
type command struct{ method, path, marionette string }

var (
	newSession = command{"POST", "", "NewSession"}
	endSession = command{"DELETE", "", "DeleteSession"}
	navigate   = command{"POST", "/url", "Navigate"}
	currentURL = command{"GET", "/url", "GetCurrentURL"}
	find       = command{"POST", "/element", "FindElement"}
	click      = command{"POST", "/element/{id}/click", "ElementClick"}
	clear      = command{"POST", "/element/{id}/clear", "ElementClear"}
	sendKeys   = command{"POST", "/element/{id}/value", "ElementSendKeys"}
	runScript  = command{"POST", "/execute/async", "ExecuteAsyncScript"}
	cookies    = command{"GET", "/cookie", "GetCookies"}
)

func (s *Session) do(c command, params map[string]any, into any) {
	s.T.Helper()
	if err := s.wire.call(c, params, into); err != nil {
		s.T.Fatalf("%s: %v", c.marionette, err)
	}
}

// Open navigates, as by the address bar, and waits for the page.
func (s *Session) Open(url string) {
	s.T.Helper()
	s.do(navigate, map[string]any{"url": url}, nil)
}

// URL returns the window's address.
func (s *Session) URL() string {
	s.T.Helper()
	var u string
	s.do(currentURL, nil, &u)
	return u
}

// Script stores the value of a JavaScript expression in the variable that into points
// to. It awaits a promise.
func (s *Session) Script(expression string, into any) {
	s.T.Helper()
	if err := s.script(expression, into); err != nil {
		s.T.Fatalf("%.300s: %v", expression, err)
	}
}

func (s *Session) script(expression string, into any) error {
	var answer struct{ Value, Error string }
	body := `const done = arguments[arguments.length - 1]
Promise.resolve().then(async () => (` + expression + `)).then((v) => done({value: JSON.stringify(v ?? null)}), (e) => done({error: String(e)}))`
	if err := s.wire.call(runScript, map[string]any{"script": body, "args": []any{}}, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return fmt.Errorf("threw %s", answer.Error)
	}
	return json.Unmarshal([]byte(answer.Value), into)
}

// Wait returns once a JavaScript condition is true, even across navigations.
func (s *Session) Wait(condition string) {
	s.T.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		var ok bool
		err := s.script("!!("+condition+")", &ok) // an error means that the page is being replaced
		if err == nil && ok {
			return
		}
		if time.Now().After(end) {
			var text string
			s.script(`document.documentElement.innerText.slice(0, 600)`, &text)
			s.T.Fatalf("never came true: %s (%v)\n%s\n%s", condition, err, s.URL(), text)
		}
	}
}

// At waits until a page whose URL starts with prefix has loaded.
func (s *Session) At(prefix string) {
	s.T.Helper()
	s.Wait(fmt.Sprintf(`location.href.startsWith(%q) && document.readyState === "complete"`, prefix))
}

// element waits for the first matching element and returns its id.
func (s *Session) element(css string) string {
	s.T.Helper()
	s.Wait(fmt.Sprintf(`document.readyState === "complete" && document.querySelector(%q)`, css))
	found := map[string]string{}
	s.do(find, map[string]any{"using": "css selector", "value": css}, &found)
	for name, id := range found {
		if strings.HasPrefix(name, "element-") {
			return id
		}
	}
	s.T.Fatalf("%s: %v", css, found)
	return ""
}

// Click clicks the middle of the first matching element.
func (s *Session) Click(css string) {
	s.T.Helper()
	s.do(click, map[string]any{"id": s.element(css)}, nil)
}

// Fill types into the first matching element and replaces its text.
func (s *Session) Fill(css, text string) {
	s.T.Helper()
	id := s.element(css)
	s.do(clear, map[string]any{"id": id}, nil)
	s.do(sendKeys, map[string]any{"id": id, "text": text}, nil)
}

// Cookies opens a URL and returns its cookies by name, including HttpOnly ones.
func (s *Session) Cookies(url string) map[string]string {
	s.T.Helper()
	s.Open(url)
	var list []struct{ Name, Value string }
	s.do(cookies, nil, &list)
	all := map[string]string{}
	for _, c := range list {
		all[c.Name] = c.Value
	}
	return all
}
