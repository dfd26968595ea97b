package pages

// StepUpView asks a signed-in person to authenticate again.
type StepUpView struct {
	CSRFToken   string
	CallbackURL string
	Who         string // name or address of the person
	Email       string // address that a link would go to
	Ways        []Provider
	Error       string
	Reason      string // adds to Error: cancelled, unavailable, stale, misconfigured
	Provider    string // name of the provider that Reason is about; empty: of this service
	RequestID   string
}

// Cancelled reports whether the person cancelled at the provider.
func (v StepUpView) Cancelled() bool { return v.Error == "AccessDenied" && v.Reason == "cancelled" }

// HasPassword reports whether a form asks for a password.
func (v StepUpView) HasPassword() bool { return SignInView{Providers: v.Ways}.HasPassword() }

// StepUpLines returns the sentences about an error on the page that asks a person to
// authenticate again. The advice to use a different account would be wrong there.
func (w words) StepUpLines(code, reason, provider, request string) ([]string, error) {
	return w.errorLines(code, reason, provider, request, false)
}
