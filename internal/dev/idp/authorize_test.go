package idp_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"authsvc/internal/dev/idp"
)

// request returns a valid authorization request that needs no page.
func request() url.Values {
	return url.Values{
		"client_id": {"app"}, "redirect_uri": {callback}, "response_type": {"code"},
		"scope": {"openid"}, "state": {"st"}, "prompt": {"none"}, "login_hint": {"ada"},
	}
}

func TestAuthorizeErrorsAtClient(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	challenge := strings.Repeat("c", 43)
	tests := map[string]struct {
		set  url.Values // replaces parameters; a nil value removes one
		want string     // error; empty: a code
	}{
		"accepted":             {nil, ""},
		"hint is email":        {url.Values{"login_hint": {"ADA@example.com"}}, ""},
		"accepted, challenge":  {url.Values{"code_challenge": {challenge}, "code_challenge_method": {"S256"}}, ""},
		"accepted, public":     {url.Values{"client_id": {"native"}, "code_challenge": {challenge}, "code_challenge_method": {"S256"}}, ""},
		"accepted, max_age":    {url.Values{"max_age": {"0"}}, ""},
		"public without PKCE":  {url.Values{"client_id": {"native"}}, "invalid_request"},
		"plain challenge":      {url.Values{"code_challenge": {challenge}, "code_challenge_method": {"plain"}}, "invalid_request"},
		"challenge, no method": {url.Values{"code_challenge": {challenge}}, "invalid_request"},
		"method, no challenge": {url.Values{"code_challenge_method": {"S256"}}, "invalid_request"},
		"short challenge":      {url.Values{"code_challenge": {"c"}, "code_challenge_method": {"S256"}}, "invalid_request"},
		"no response_type":     {url.Values{"response_type": nil}, "invalid_request"},
		"implicit":             {url.Values{"response_type": {"token"}}, "unsupported_response_type"},
		"hybrid":               {url.Values{"response_type": {"code id_token"}}, "unsupported_response_type"},
		"fragment mode":        {url.Values{"response_mode": {"fragment"}}, "invalid_request"},
		"request object":       {url.Values{"request": {"e30."}}, "request_not_supported"},
		"request_uri":          {url.Values{"request_uri": {"https://evil.test/"}}, "request_uri_not_supported"},
		"silent, no hint":      {url.Values{"login_hint": nil}, "login_required"},
		"silent, unknown hint": {url.Values{"login_hint": {"mallory"}}, "login_required"},
		"none with login":      {url.Values{"prompt": {"none login"}}, "invalid_request"},
		"negative max_age":     {url.Values{"max_age": {"-1"}}, "invalid_request"},
		"nonce twice":          {url.Values{"nonce": {"a", "b"}}, "invalid_request"},
		"state twice":          {url.Values{"state": {"a", "b"}}, "invalid_request"},
		"state twice the same": {url.Values{"state": {"a", "a"}}, "invalid_request"},
		"empty hint":           {url.Values{"login_hint": {""}}, "login_required"},
		"state with odd bytes": {url.Values{"state": {"a&iss=x\r\nSet-Cookie: a=b"}}, ""},
		"unknown are ignored":  {url.Values{"x-unknown": {"1"}, "scope": {"openid x"}}, ""},
		"resource may repeat":  {url.Values{"resource": {"https://a.test", "https://b.test"}}, ""},
		"display is ignored":   {url.Values{"display": {"popup"}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := request()
			for key, values := range tt.set {
				if q[key] = values; values == nil {
					q.Del(key)
				}
			}
			res, _ := get(t, server.Issuer()+"/authorize?"+q.Encode())
			params := location(t, res)
			if params.Get("error") != tt.want || params.Has("code") != (tt.want == "") {
				t.Errorf("answer %v, want error %q", params, tt.want)
			}
			wantState := q.Get("state")
			if len(q["state"]) > 1 {
				wantState = ""
			}
			if params.Get("state") != wantState || len(params["iss"]) != 1 || params.Get("iss") != server.Issuer() {
				t.Errorf("state and iss: %v", params)
			}
		})
	}
}

// TestAuthorizeErrorsHere: errors about the client or its redirect URI stay on a page.
func TestAuthorizeErrorsHere(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	tests := map[string]url.Values{
		"unknown client":        {"client_id": {"<script>"}},
		"no client":             {"client_id": nil},
		"client twice":          {"client_id": {"app", "app"}},
		"other path":            {"redirect_uri": {callback + "/x"}},
		"other host":            {"redirect_uri": {"https://evil.test/"}},
		"query added":           {"redirect_uri": {callback + "?x=1"}},
		"case":                  {"redirect_uri": {strings.Replace(callback, "localhost", "LOCALHOST", 1)}},
		"no redirect_uri":       {"redirect_uri": nil},
		"redirect_uri twice":    {"redirect_uri": {callback, callback}},
		"loopback: evil host":   {"client_id": {"native"}, "redirect_uri": {"https://evil.test/"}},
		"loopback: script":      {"client_id": {"native"}, "redirect_uri": {"javascript://localhost/%0aalert(1)"}},
		"loopback: credentials": {"client_id": {"native"}, "redirect_uri": {"http://localhost@evil.test/"}},
		"loopback: backslash":   {"client_id": {"native"}, "redirect_uri": {`http://localhost\@evil.test/`}},
		"loopback: subdomain":   {"client_id": {"native"}, "redirect_uri": {"http://localhost.evil.test/"}},
		"loopback: fragment":    {"client_id": {"native"}, "redirect_uri": {"http://localhost/#x"}},
		"loopback: relative":    {"client_id": {"native"}, "redirect_uri": {"//localhost/"}},
		"loopback: line break":  {"client_id": {"native"}, "redirect_uri": {"http://localhost/\r\nX: y"}},
		"too long":              {"state": {strings.Repeat("x", 16<<10)}},
	}
	for name, set := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := request()
			for key, values := range set {
				if q[key] = values; values == nil {
					q.Del(key)
				}
			}
			res, body := get(t, server.Issuer()+"/authorize?"+q.Encode())
			if res.StatusCode != http.StatusBadRequest || res.Header.Get("Location") != "" {
				t.Errorf("got %d to %q", res.StatusCode, res.Header.Get("Location"))
			}
			if strings.Contains(body, "<script") || !strings.Contains(body, `role="alert"`) {
				t.Errorf("page:\n%s", body)
			}
		})
	}
}

func TestLoopbackRedirects(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	for _, uri := range []string{
		"http://localhost:1/cb", "http://127.0.0.1/cb?keep=%20a", "http://[::1]:8080/", "https://app.localhost/", "http://127.8.9.1/",
	} {
		t.Run(uri, func(t *testing.T) {
			t.Parallel()
			q := request()
			q.Set("client_id", "native")
			q.Set("redirect_uri", uri)
			q.Set("code_challenge", strings.Repeat("c", 43))
			q.Set("code_challenge_method", "S256")
			res, _ := get(t, server.Issuer()+"/authorize?"+q.Encode())
			sep := "?"
			if strings.Contains(uri, "?") {
				sep = "&"
			}
			if to := res.Header.Get("Location"); !strings.HasPrefix(to, uri+sep+"code=") {
				t.Errorf("%d to %q", res.StatusCode, to)
			}
		})
	}
}

// TestAuthorizeByPost: OpenID Connect Core §3.1.2.1 also requires POST.
func TestAuthorizeByPost(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	res, _ := postForm(t, server.Issuer()+"/authorize", request(), "Sec-Fetch-Site", "cross-site")
	if params := location(t, res); params.Get("code") == "" {
		t.Errorf("answer %v", params)
	}
}

func TestChooseRefusals(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	tests := map[string]struct {
		headers []string
		form    url.Values
		status  int
	}{
		"same origin":        {[]string{"Sec-Fetch-Site", "same-origin"}, url.Values{"person": {"ada"}}, 303},
		"no browser":         {nil, url.Values{"person": {"ada"}}, 303},
		"origin fits":        {[]string{"Origin", server.Issuer()}, url.Values{"person": {"ada"}}, 303},
		"cross-site":         {[]string{"Sec-Fetch-Site", "cross-site"}, url.Values{"person": {"ada"}}, 403},
		"same-site":          {[]string{"Sec-Fetch-Site", "same-site"}, url.Values{"person": {"ada"}}, 403},
		"cross-site add":     {[]string{"Sec-Fetch-Site", "cross-site"}, url.Values{"add": {"1"}, "name": {"M"}}, 403},
		"old browser":        {[]string{"Origin", "https://evil.test"}, url.Values{"person": {"ada"}}, 403},
		"old browser, null":  {[]string{"Origin", "null"}, url.Values{"person": {"ada"}}, 403},
		"nobody":             {nil, url.Values{}, 400},
		"unknown person":     {nil, url.Values{"person": {"mallory"}}, 400},
		"new, no name":       {nil, url.Values{"add": {"1"}, "name": {"  "}}, 400},
		"new, long name":     {nil, url.Values{"add": {"1"}, "name": {strings.Repeat("n", 101)}}, 400},
		"new, control chars": {nil, url.Values{"add": {"1"}, "name": {"a\x00b"}}, 400},
		"new, bad email":     {nil, url.Values{"add": {"1"}, "name": {"M"}, "email": {"M <m@example.com>"}}, 400},
		"large body":         {nil, url.Values{"add": {"1"}, "name": {strings.Repeat("n", 64<<10)}}, 413},
	}
	people := len(server.People())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := request()
			q.Del("prompt")
			res, body := postForm(t, server.Issuer()+"/authorize/choose?"+q.Encode(), tt.form, tt.headers...)
			if res.StatusCode != tt.status {
				t.Errorf("got %d, want %d\n%s", res.StatusCode, tt.status, body)
			}
			if tt.status != 303 && !strings.Contains(body, `role="alert"`) {
				t.Error("no banner says what is wrong")
			}
		})
	}
	t.Cleanup(func() {
		if got := len(server.People()); got != people {
			t.Errorf("a refused form added a person: %d people", got)
		}
	})
}

func TestApprove(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	authURL := server.Issuer() + "/authorize?" + request().Encode()
	tests := map[string]struct {
		url, sub string
		param    string // in the answer; empty: an error
	}{
		"approve":        {authURL, "ada", "code"},
		"cancel":         {authURL, "", "error"},
		"bad request":    {authURL + "&state=2", "ada", "error"},
		"nobody":         {authURL, "mallory", ""},
		"unknown client": {server.Issuer() + "/authorize?client_id=x", "ada", ""},
		"other provider": {"https://op.example.com/authorize?" + request().Encode(), "ada", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := server.Approve(tt.url, tt.sub)
			if (err == nil) != (tt.param != "") || err == nil && !answer.Params.Has(tt.param) {
				t.Errorf("answer %v, error %v", answer.Params, err)
			}
		})
	}
}
