package text

// An Invalid is an error about a value that the caller gave: only another value helps.
type Invalid struct{ Err error }

// Error returns the text of the error.
func (e *Invalid) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *Invalid) Unwrap() error { return e.Err }
