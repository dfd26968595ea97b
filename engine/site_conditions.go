package engine

import (
	"authsvc"
	"authsvc/internal/protocol/access"
)

// accessOf returns the parts of a condition that concern the person.
func accessOf(c authsvc.Condition) access.Condition {
	return access.Condition{Emails: c.Emails, Domains: c.Domains, Users: c.Users, Providers: c.Providers,
		Groups: c.Groups, Claims: c.Claims, Networks: c.Networks}
}

// anyHolds reports whether one of the conditions holds or there are none.
func anyHolds(all []access.Condition, who *access.Subject) bool {
	for i := range all {
		if all[i].Holds(who) {
			return true
		}
	}
	return len(all) == 0
}

// misshapen says which claim cannot match any of the conditions because of its shape, or
// returns "".
func misshapen(all []access.Condition, who *access.Subject) string {
	for i := range all {
		if shape := all[i].Misshapen(who); shape != "" {
			return shape
		}
	}
	return ""
}

// accessRequest describes a request that the session v makes.
func accessRequest(rq *request, v *authsvc.Session) authsvc.AccessRequest {
	return authsvc.AccessRequest{Session: v, Method: rq.r.Method, Host: rq.r.Host, Path: rq.r.URL.Path,
		Client: rq.client(), Time: rq.now}
}
