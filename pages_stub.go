package authsvc

import "encoding/json"

type pageName string

const (
	pageSignIn        pageName = "signin"
	pageSignOut       pageName = "signout"
	pageError         pageName = "error"
	pageVerifyRequest pageName = "verify-request"
	pageConfirm       pageName = "confirm"
	pageNotice        pageName = "notice"
	pageRepost        pageName = "repost"
)

type pages struct{ stylePath string }

func newPages(theme Theme, base, origin string, styles map[string]Style) (*pages, []error) {
	return &pages{stylePath: "style.0.css"}, nil
}
func (p *pages) render(name pageName, lang string, v any) ([]byte, error) { return json.Marshal(v) }
func (p *pages) csp(name pageName) string                                 { return "default-src 'none'" }
func (p *pages) asset(name string) ([]byte, string, bool)                 { return nil, "text/css", true }
func errorStatus(c ErrorCode) int                                         { return 200 }

type signInView struct {
	CSRFToken, CallbackURL string
	Error                  ErrorCode
	RequestID              string
	Providers              []providerView
	Email, SignedIn        string
	RetryAfter             int
}
type providerView struct {
	ID, Name, Kind, Form, Action string
	Style                        Style
	Fields                       []Field
	LastUsed                     bool
}
type signOutView struct {
	CSRFToken, CallbackURL, Who string
	Error                       bool
	RequestID                   string
}
type errorView struct {
	Code                          ErrorCode
	RequestID, BackURL, SignInURL string
}
type verifyRequestView struct {
	Email, CSRFToken, ResendAction, CallbackURL string
	MaxAgeMinutes                               int
	SignInURL                                   string
	Resent                                      bool
}
type confirmView struct{ Email, Token, CallbackURL, CSRFToken, Action, Current string }
type noticeView struct {
	Removed                []string
	ContinueURL, SignInURL string
}
type repostView struct {
	Action string
	Fields [][2]string
}
