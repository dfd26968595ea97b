package outbound

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"authsvc/internal/text/strictjson"
)

// FormType is the media type of a form.
const FormType = "application/x-www-form-urlencoded"

// A Response is an answer with its complete body.
type Response struct {
	Status      int
	ContentType string
	RetryAfter  string
	Body        []byte
}

// Object decodes a JSON object, or a form, which becomes an object of strings.
func (r *Response) Object() (map[string]any, error) {
	if !r.isForm() {
		return strictjson.Object(r.Body)
	}
	values, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return nil, errors.New("not a valid form")
	}
	fields := make(map[string]any, len(values))
	for name, list := range values {
		if len(list) > 1 {
			return nil, strictjson.ErrDuplicate
		}
		if !utf8.ValidString(name) || !utf8.ValidString(list[0]) {
			return nil, errors.New("not a valid form")
		}
		if list[0] != "" { // an empty value counts as absent, RFC 6749, section 3.2
			fields[name] = list[0]
		}
	}
	return fields, nil
}

// value decodes JSON of any kind, or a form. An empty body becomes nil.
func (r *Response) value() (any, error) {
	if len(bytes.TrimSpace(r.Body)) == 0 {
		return nil, nil
	}
	if r.isForm() {
		return r.Object()
	}
	return strictjson.Value(r.Body)
}

// isForm reports whether the body is a form: its content type says so, or is text or
// missing and the body contains "=". A body that begins like JSON or markup is never a
// form, whatever the content type.
func (r *Response) isForm() bool {
	body := bytes.TrimSpace(r.Body)
	if len(body) > 0 && strings.ContainsRune(`{["<`, rune(body[0])) {
		return false
	}
	kind, _, _ := mime.ParseMediaType(r.ContentType)
	switch kind {
	case FormType:
		return true
	case "text/plain", "text/html", "":
		return bytes.ContainsRune(body, '=')
	}
	return false
}

// A Status is the error for an answer with this status, which is neither a success nor
// temporary.
type Status int

// Error names the status.
func (s Status) Error() string { return fmt.Sprintf("status %d", int(s)) }

// StatusError returns the error for a status other than success.
func StatusError(status int) error {
	if Transient(status) {
		return fmt.Errorf("%w: status %d", ErrUnavailable, status)
	}
	return Status(status)
}

// Transient reports whether a status indicates a fault that may be temporary.
func Transient(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500
}
