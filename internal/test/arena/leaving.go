package arena

import (
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// A Leaving is the request to the provider with which a browser signs out there.
type Leaving struct {
	Method string
	To     *url.URL   // with the query of a GET
	Sent   url.Values // from the query or the form
}

// Leave follows an address that a sign-out returned: an address of the provider, or
// of the page that posts there.
func (b *Browser) Leave(to string) Leaving {
	b.T.Helper()
	if !strings.HasPrefix(to, b.Origin+"/api/auth/signout/provider?") {
		u := MustURL(b.T, to)
		return Leaving{http.MethodGet, u, u.Query()}
	}
	a := b.Get(to)
	doc, err := html.Parse(strings.NewReader(a.Text))
	if err != nil || a.StatusCode != http.StatusOK {
		b.T.Fatalf("%s: %d %s", to, a.StatusCode, a.Text)
	}
	l := Leaving{Sent: url.Values{}}
	for n := range doc.Descendants() {
		attrs := map[string]string{}
		for _, at := range n.Attr {
			attrs[at.Key] = at.Val
		}
		switch n.Data {
		case "form":
			l.Method, l.To = strings.ToUpper(attrs["method"]), MustURL(b.T, attrs["action"])
		case "input":
			l.Sent.Add(attrs["name"], attrs["value"])
		}
	}
	if l.To == nil {
		b.T.Fatalf("%s has no form", to)
	}
	return l
}
