package authsvc

import "time"

// A Session tells who is signed in. Its JSON form is the client-safe object of
// GET session.
type Session struct {
	UserID   string
	Name     string
	Email    string
	Image    string
	Expires  time.Time // when it ends if nothing renews it
	AuthTime time.Time // when the person proved who they are
	Provider string    // by which provider; empty: unknown
	Claims   Claims    // strategy jwt, else nil
	Object   map[string]any
}
