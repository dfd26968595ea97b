package authsvc

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

type sessionKey struct{ s *Service }

// Session returns who is signed in, nil without a session. An error means
// that it could not be found out; treat it as nobody. It renews nothing.
func (s *Service) Session(r *http.Request) (*Session, error) {
	if v, ok := r.Context().Value(sessionKey{s}).(*Session); ok {
		return v, nil
	}
	rq := s.request(r)
	raw := rq.sessionCookie()
	if raw == "" {
		return nil, nil
	}
	v, _, err := s.sessions.read(rq.ctx, raw, rq.now, reading{full: true})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Require passes requests with a session on to next, which finds it by
// Session. Others are sent to the sign-in page if a person is navigating, and
// answered 401 if not. If sessions cannot be read the answer is 503. Live
// sessions are renewed as by GET session. Answers are not to be stored by
// caches unless next sets Cache-Control itself.
func (s *Service) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rq := s.request(r)
		v, renewed, err := rq.required()
		if err != nil {
			s.log.Error("session could not be read", "request", rq.requestID(), "err", err)
			http.Error(w, "sign-in is not available, request "+rq.requestID(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Add("Vary", "Cookie")
		w.Header().Set("Cache-Control", hNoStore[0]) // next may say otherwise
		if v == nil {
			if r.Method != http.MethodGet || !isNavigation(r.Header) || !strings.Contains(r.Header.Get("Accept"), "text/html") {
				http.Error(w, "sign in first", http.StatusUnauthorized)
				return
			}
			back := s.origin + percentEncode(r.URL.RequestURI())
			http.Redirect(w, r, withQuery(s.base+"/signin", "callbackUrl", back), http.StatusFound)
			return
		}
		if renewed != nil && rq.setSession(renewed.value, renewed.expires) {
			for i := range rq.set {
				w.Header().Add("Set-Cookie", rq.set[i].line(s.names.secure))
			}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{s}, v)))
	})
}

func (rq *request) required() (*Session, *issued, error) {
	raw := rq.sessionCookie()
	if raw == "" {
		return nil, nil, nil
	}
	return rq.sessions.read(rq.ctx, raw, rq.now, reading{touch: true, full: true})
}

// EndSessions ends every session of a user, wherever it is signed in. With
// strategy jwt it needs an Adapter.
func (s *Service) EndSessions(ctx context.Context, userID string) error {
	if s.adapter == nil {
		return errors.New("authsvc: without storage sessions cannot be ended from the server")
	}
	r := s.sessions.revocation(userID, time.Now())
	if _, err := s.adapter.EndSessions(ctx, userID, r); err != nil {
		return err
	}
	if r != nil {
		s.revoked.apply(*r)
	}
	return nil
}

// DeleteUser ends every session of a user and removes the user with its
// accounts. ErrNotFound: there is none.
//
// JWT sessions are revoked again afterwards: of those that begin in between
// nobody would know that the user is gone.
func (s *Service) DeleteUser(ctx context.Context, userID string) error {
	if err := s.EndSessions(ctx, userID); err != nil {
		return err
	}
	if err := s.adapter.DeleteUser(ctx, userID); err != nil {
		return err
	}
	return s.EndSessions(ctx, userID)
}
