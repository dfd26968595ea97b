package authsvc_test

import "authsvc/internal/idp"

// claim sets, or with nil removes, a claim of the ID token.
func claim(name string, v any) idp.Fault {
	return idp.Fault{IDToken: func(c map[string]any) {
		if v == nil {
			delete(c, name)
		} else {
			c[name] = v
		}
	}}
}
