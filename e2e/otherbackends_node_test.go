package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// nodeExamples are lines that make the examples in docs/other-back-ends.md print their
// port. Fastify gets a further route, which sets a cookie of its own.
var nodeExamples = map[string]struct{ before, routes, after string }{
	"express": {after: `server.on("listening", () => console.log(server.address().port));`},
	"fastify": {"await app.listen(", `app.get("/both", { onRequest: signedIn }, async (request, reply) => {
  reply.header("Set-Cookie", "own=1");
  return { email: request.raw.auth.user.email };
});
`, "console.log(app.server.address().port);"},
}

// TestNodeFrameworks checks that the examples for Express and Fastify in
// docs/other-back-ends.md let only signed-in people into the protected routes, send
// those who open a page to the sign-in page, pass on the renewed cookie, and refuse if
// they get no session.
func TestNodeFrameworks(t *testing.T) {
	t.Parallel()
	needClient(t)
	const renewed = "__Host-authsvc.session=new; Path=/; HttpOnly; Secure; SameSite=Lax"
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch cookie, err := r.Cookie("__Host-authsvc.session"); {
		case r.URL.Path != "/api/auth/session" || err != nil || cookie.Value == "broken":
			w.WriteHeader(http.StatusServiceUnavailable)
		case cookie.Value == "ada":
			w.Header().Add("Set-Cookie", renewed)
			io.WriteString(w, `{"user":{"email":"ada@example.com"}}`)
		default:
			io.WriteString(w, "{}")
		}
	}))
	t.Cleanup(service.Close)
	const ada, nobody, broken = "__Host-authsvc.session=ada", "__Host-authsvc.session=nobody", "__Host-authsvc.session=broken"
	type request struct{ method, path, cookie, accept, site string }
	type answer struct {
		status    int
		email, to string
		cookies   []string
		open      bool // anyone may cache it
	}
	for framework, extra := range nodeExamples {
		t.Run(framework, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp(webDir, "backend-") // Node finds the packages from there
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			code := codeBlock(t, "js "+framework)
			if extra.before != "" {
				code = strings.Replace(code, extra.before, extra.routes+extra.before, 1)
			}
			if err := os.WriteFile(filepath.Join(dir, "back.mjs"), []byte(code+extra.after), 0o600); err != nil {
				t.Fatal(err)
			}
			behind := startServer(t, webDir, service.URL, "env", "PORT=0", "node", filepath.Join(filepath.Base(dir), "back.mjs"))
			wants := map[request]answer{
				{"GET", "/", ada, "", ""}:                           {200, "ada@example.com", "", []string{renewed}, false},
				{"GET", "/?tab=1", ada, "text/html", "same-origin"}: {200, "ada@example.com", "", []string{renewed}, false},
				{"GET", "/", nobody, "", ""}:                        {status: 401},
				{"GET", "/", "", "", ""}:                            {status: 401},
				{"GET", "/?tab=1", nobody, "text/html", "none"}:     {status: 302, to: "/api/auth/signin?callbackUrl=%2F%3Ftab%3D1"},
				{"GET", "/", broken, "text/html", "none"}:           {status: 503},
				{"GET", "/admin/", nobody, "", ""}:                  {status: 401},
				{"GET", "/admin/", nobody, "text/html", "none"}:     {status: 302, to: "/api/auth/signin?callbackUrl=%2Fadmin%2F"},
				{"GET", "/about", "", "", ""}:                       {status: 200, open: true},
				{"GET", "/about", broken, "", "cross-site"}:         {status: 200, open: true},
			}
			if framework == "fastify" {
				wants[request{"GET", "/admin/", ada, "", ""}] = answer{200, "ada@example.com", "", []string{renewed}, false}
				wants[request{"GET", "/both", ada, "", ""}] = answer{200, "ada@example.com", "", []string{renewed, "own=1"}, false}
			} else {
				wants[request{"POST", "/admin/", ada, "", "same-site"}] = answer{status: 403}
			}
			for asked, want := range wants {
				r := httptest.NewRequest(asked.method, "http://app.test"+asked.path, nil)
				for name, value := range map[string]string{"Cookie": asked.cookie, "Accept": asked.accept, "Sec-Fetch-Site": asked.site} {
					if value != "" {
						r.Header.Set(name, value)
					}
				}
				w := httptest.NewRecorder()
				behind.ServeHTTP(w, r)
				var person struct{ Email string }
				if w.Code == http.StatusOK {
					if err := json.Unmarshal(w.Body.Bytes(), &person); err != nil {
						t.Errorf("%v: %s: %v", asked, w.Body, err)
					}
				}
				cookies, private := w.Header()["Set-Cookie"], strings.Contains(w.Header().Get("Cache-Control"), "private")
				if w.Code != want.status || person.Email != want.email || w.Header().Get("Location") != want.to || !slices.Equal(cookies, want.cookies) || private == want.open {
					t.Errorf("%v: %d %s %v\nwant %+v", asked, w.Code, w.Body, w.Header(), want)
				}
			}
		})
	}
}
