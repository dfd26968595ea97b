package engine

import (
	"net/http"
)

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A requestKey is a key of Stats.Requests.
type requestKey = struct {
	Route, Method string
	Status        int
}

// countAnswer counts the request by its route, its method and the status of its answer.
func countAnswer(rq *request) {
	k := requestKey{Route: "other", Method: "other", Status: rq.to.status}
	if rq.route != nil {
		k.Route = rq.route.name
	}
	switch m := rq.r.Method; m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions:
		k.Method = m
	}
	if k.Status == 0 {
		k.Status = http.StatusOK
	}
	rq.answered.Add(k)
}
