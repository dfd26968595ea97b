package pages

import (
	"time"
)

// DeleteView asks the person to confirm the deletion of an account, or reports it.
type DeleteView struct {
	CSRFToken string
	Fresh     string
	Who       string    // address, name or id of the person
	Word      string    // the text that the person must type
	Typed     string    // initial value of its field
	On        time.Time // when the account is deleted; zero: at once, or, once Done is set, unknown
	Error     string
	RequestID string
	Done      string // scheduled or deleted
}
