package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	testbrowser "authsvc/internal/test/browser"
)

// A pythonAnswer is the answer of an example in Python.
type pythonAnswer struct {
	Status  int
	Email   string
	To      string // Location
	Cache   string
	Cookies []string // name, value and attributes of each Set-Cookie line
}

// pythonDrivers sends one request to the example of each framework and prints its
// answer. The examples are in the file app.py.
var pythonDrivers = map[string]string{
	"flask": `
from app import app
answer = app.test_client(use_cookies=False).get(PATH, headers=HEADERS)
show(answer.status_code, answer.get_data(), answer.headers, answer.headers.getlist("Set-Cookie"))
`,
	"flask-route": `
from app import app
client = app.test_client(use_cookies=False)
assert client.get("/about").status_code == 200, "the open route is closed"
answer = client.get(PATH, headers=HEADERS)
show(answer.status_code, answer.get_data(), answer.headers, answer.headers.getlist("Set-Cookie"))
`,
	"django": `
import django.conf
django.conf.settings.configure(ALLOWED_HOSTS=["*"], DEFAULT_CHARSET="utf-8")
import django
django.setup()
from app import RequireSession
from django.http import JsonResponse
from django.test import RequestFactory
sent = {"HTTP_" + name.upper().replace("-", "_"): value for name, value in HEADERS.items()}
answer = RequireSession(lambda request: JsonResponse({"email": request.person["email"]}))(RequestFactory().get(PATH, **sent))
show(answer.status_code, answer.content, answer, [c.OutputString() for c in answer.cookies.values()])
`,
	"django-route": `
import django.conf
django.conf.settings.configure(ALLOWED_HOSTS=["*"], DEFAULT_CHARSET="utf-8")
import django
django.setup()
from app import home
from django.test import RequestFactory
sent = {"HTTP_" + name.upper().replace("-", "_"): value for name, value in HEADERS.items()}
answer = home(RequestFactory().get(PATH, **sent))
show(answer.status_code, answer.content, answer, [c.OutputString() for c in answer.cookies.values()])
`,
	"fastapi-route": `
from app import app
from fastapi.testclient import TestClient
client = TestClient(app)
assert client.get("/about").status_code == 200, "the open route is closed"
answer = client.get(PATH, headers=HEADERS, follow_redirects=False)
show(answer.status_code, answer.content, answer.headers, answer.headers.get_list("Set-Cookie"))
`,
	"fastapi": `
from app import app
from fastapi import WebSocket
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

@app.websocket("/socket")
async def socket(opened: WebSocket):
    await opened.accept()
    await opened.send_text(opened.state.person["email"])

client, said = TestClient(app), ""
answer = client.get(PATH, headers=HEADERS, follow_redirects=False)
try:
    with client.websocket_connect("/socket", headers=HEADERS) as opened:
        said = opened.receive_text()
except WebSocketDisconnect:
    pass
assert said == (answer.json()["email"] if answer.status_code == 200 else ""), "the WebSocket says " + said
lines = answer.headers.get_list("Set-Cookie")
show(answer.status_code, answer.content, answer.headers, lines)
`,
}

// pythonShow begins each driver.
const pythonShow = `
import json, os, re
HEADERS = json.loads(os.environ["HEADERS"])
PATH = "/?tab=1&n=%C3%A4"

def show(status, body, headers, lines):
    email = json.loads(body)["email"] if status == 200 else ""
    cookies = ["; ".join(sorted(re.split("; *", line.replace("expires", "Expires")))) for line in lines]
    print(json.dumps({"status": status, "email": email, "to": headers.get("Location") or "", "cache": headers.get("Cache-Control") or "", "cookies": sorted(cookies)}))
`

// pythonApp returns the example of a framework. Those of single routes change the
// example before them as the page says.
func pythonApp(t *testing.T, framework string) string {
	t.Helper()
	code := codeBlock(t, "python "+framework)
	switch framework {
	case "flask-route":
		whole, line := codeBlock(t, "python flask"), "@app.before_request\n"
		before, _, found := strings.Cut(whole, `@app.get("/")`)
		if !found || !strings.Contains(before, line) {
			t.Fatal("the example for Flask lacks a line that the page says to leave out")
		}
		return strings.Replace(before, line, "", 1) + code
	case "django-route":
		return codeBlock(t, "python django") + "\n\n" + code
	}
	return code
}

// TestPythonFrameworks checks that the examples for Flask, Django and FastAPI in
// docs/other-back-ends.md let only signed-in people in, send those who open a page to
// the sign-in page, pass on every cookie with its attributes, and refuse if they get no
// session, and that FastAPI's WebSockets are no way around.
func TestPythonFrameworks(t *testing.T) {
	t.Parallel()
	requested(t, "Python with Flask, Django and FastAPI")
	renewed := []string{"__Secure-authsvc.session=a.b-c_d; Path=/; Expires=Sun, 06 Dec 2037 08:49:37 GMT; HttpOnly; Secure; SameSite=Lax",
		"theme=dark; Path=/api; Max-Age=3600"}
	sorted := []string{"Expires=Sun, 06 Dec 2037 08:49:37 GMT; HttpOnly; Path=/; SameSite=Lax; Secure; __Secure-authsvc.session=a.b-c_d", "Max-Age=3600; Path=/api; theme=dark"}
	authsvc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Set-Cookie"] = renewed
		switch cookie, err := r.Cookie("s"); {
		case r.URL.Path != "/api/auth/session", err == nil && cookie.Value == "broken":
			w.WriteHeader(http.StatusServiceUnavailable)
		case err == nil && cookie.Value == "ada":
			io.WriteString(w, `{"user":{"email":"ada@example.com"}}`)
		default:
			io.WriteString(w, "{}")
		}
	}))
	t.Cleanup(authsvc.Close)
	for framework, driver := range pythonDrivers {
		t.Run(framework, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{"back.py": codeBlock(t, "python"),
				"app.py": pythonApp(t, framework), "driver.py": pythonShow + driver} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			refused := pythonAnswer{Status: 401, Cache: "private, no-store", Cookies: sorted}
			sent := pythonAnswer{302, "", "/api/auth/signin?callbackUrl=%2F%3Ftab%3D1%26n%3D%25C3%25A4", "private, no-store", sorted}
			for headers, want := range map[string]pythonAnswer{
				`"Cookie": "s=ada"`: {200, "ada@example.com", "", "private, no-store", sorted},
				`"Cookie": "s=ada", "Accept": "text/html", "Sec-Fetch-Mode": "navigate"`: {200, "ada@example.com", "", "private, no-store", sorted},
				`"Cookie": "s=nobody"`: refused,
				`"Cookie": "s=nobody", "Accept": "text/html,*/*", "Sec-Fetch-Mode": "navigate"`: sent,
				`"Cookie": "s=nobody", "Accept": "text/html,*/*"`:                               sent, // a browser without Fetch Metadata
				`"Cookie": "s=nobody", "Accept": "text/html,*/*", "Sec-Fetch-Mode": "cors"`:     refused,
				`"Cookie": "s=nobody", "Accept": "*/*", "Sec-Fetch-Mode": "navigate"`:           refused,
				`"Cookie": "s=broken", "Accept": "text/html", "Sec-Fetch-Mode": "navigate"`:     {Status: 503, Cookies: []string{}},
			} {
				call := exec.CommandContext(t.Context(), "/usr/bin/python3", "driver.py")
				call.Dir = dir
				call.Env = append(os.Environ(), "HEADERS={"+headers+"}", "AUTHSVC="+authsvc.URL)
				out, err := call.Output()
				var got pythonAnswer
				if err == nil {
					err = json.Unmarshal(out, &got)
				}
				if err != nil {
					t.Errorf("%s: %v\n%s\n%s", headers, err, out, stderrOf(err))
					continue
				}
				if want.Status == 503 {
					got.Cache = "" // 503 is not cached
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s", headers, diff)
				}
			}
		})
	}
}

// TestPythonBesideDev checks that sign_in of docs/other-back-ends.md, changed as its
// section "On your machine" says, sends people to dev, which leads them back.
func TestPythonBesideDev(t *testing.T) {
	t.Parallel()
	requested(t, "Python")
	origin, _ := runDev(t, "")
	line := regexp.MustCompile(`(?m)^ *return "/api/auth/signin\?".*\n`)
	python := codeBlock(t, "python")
	if n := len(line.FindAllString(python, -1)); n != 1 {
		t.Fatalf("%d lines send people to sign in, want 1", n)
	}
	back := line.ReplaceAllLiteralString(python, codeBlock(t, "python local")) +
		"\nprint(sign_in('GET', '/orders?n=%C3%A4&m=1', {'Accept': 'text/html'}))\n"
	call := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", back)
	call.Env = append(os.Environ(), "AUTHSVC="+origin)
	out, err := call.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	page, err := testbrowser.New("", nil).Get(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if want := `name="callbackUrl" value="http://localhost:8000/orders?n=%C3%A4&amp;m=1"`; page.StatusCode != http.StatusOK || !strings.Contains(page.Text, want) {
		t.Errorf("%s: %s\n%s\nwant %s", out, page.Status, page.Text, want)
	}
}

// stderrOf returns what a command wrote to its standard error.
func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // of Output
		return string(exit.Stderr)
	}
	return fmt.Sprint(err)
}
