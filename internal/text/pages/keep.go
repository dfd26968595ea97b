package pages

import (
	"time"
)

// KeepView asks whether to keep an account that is to be deleted.
type KeepView struct {
	CSRFToken string
	Who       string
	On        time.Time // when the account is deleted
	Token     string    // of the mailed link that opened the page; empty: a sign-in waits
	Kept      bool      // the account was kept: the other fields are empty
	Spent     bool      // the mailed link is no longer valid: the other fields are empty
	SignInURL string
	Error     string
	RequestID string
}
