package dev

import "authsvc"

// sentence says what an event that is not a success means, with its cause and with the
// id of the request, which error pages show.
func sentence(e authsvc.AuditEvent, cause string) string {
	what := happened()[e.Name]
	if what == "" {
		what = "something was refused or failed (" + e.Name + ")"
	}
	if cause != "" {
		what += ": " + cause
	}
	if e.RequestID != "" {
		what += " (request " + e.RequestID + ")"
	}
	return what
}

// happened returns the beginning of the sentence about each event that is not a success.
func happened() map[string]string {
	return map[string]string{
		"account.link_refused":        "an account was not added",
		"account.not_linked":          "a sign-in was refused",
		"account.unlink_failed":       "an account could not be removed",
		"account.unlink_refused":      "an account was not removed",
		"backchannel_logout.failed":   "a sign-out by the provider failed",
		"backchannel_logout.refused":  "a sign-out by the provider was refused",
		"change.undo_refused":         "a change was not undone",
		"code.refused":                "a code was refused",
		"code.spent":                  "a code was not checked",
		"configuration.change_failed": "a new configuration was not applied",
		"credentials.refused":         "a sign-in was refused",
		"csrf.refused":                "a form was refused",
		"email.change_refused":        "a change of address was refused",
		"email.given_up":              "a mail was not delivered",
		"email.limited":               "no link was mailed",
		"email.refused":               "no link was mailed",
		"fresh.required":              "a fresh proof of identity is needed",
		"gate.enter_refused":          "a host of the gate did not get its cookie",
		"gate.malformed":              "the gate refused a malformed request",
		"gate.misconfigured":          "the gate is not set up correctly",
		"gate.refused":                "the gate refused a request",
		"gate.untrusted_proxy":        "the gate refused to answer a proxy",
		"notice.limited":              "a notice was not mailed",
		"pat.refused":                 "a personal access token was refused",
		"request.cross_site":          "a request from another site was refused",
		"request.failed":              "a request failed",
		"request.limited":             "a request was refused",
		"session.ambiguous":           "session cookies were refused",
		"session.end_failed":          "a session could not be ended",
		"sessions.end_failed":         "sessions could not be ended",
		"sign_in.failed":              "a sign-in failed",
		"sign_in.refused":             "a sign-in was refused",
		"sign_out.failed":             "a sign-out failed",
		"sign_out.return_refused":     "a step of a sign-out was refused",
		"token.denied":                "no token was issued",
		"token.misaddressed":          "refreshed tokens of a provider were refused",
		"token.refresh_failed":        "tokens of a provider could not be refreshed",
		"token.refused":               "the provider refused to refresh tokens",
		"token.wrong_subject":         "refreshed tokens of a provider were refused",
		"user.block_failed":           "a user could not be blocked",
		"user.delete_failed":          "a user could not be deleted",
	}
}
