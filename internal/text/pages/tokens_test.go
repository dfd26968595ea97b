package pages

import "time"

// tokenStates returns the states of the page of personal access tokens.
func tokenStates() []state {
	at := func(days int) time.Time { return time.Date(2026, 11, 2+days, 0, 0, 0, 0, time.UTC) }
	uses := []TokenUse{{"audience.0", "https://api.example.com"}, {"host.0", "https://grafana.example.com"}}
	empty := TokensView{CSRFToken: testToken, Uses: uses, MaxDays: 366}
	some := empty
	some.Tokens = []TokenRow{{ID: "1", Name: "Nightly backup", Uses: []string{"https://api.example.com"}, Used: at(0), Expires: at(70)},
		{ID: "2", Name: "Grafana of the Municipal Library of Greater Exampleton, second floor", Uses: []string{"https://grafana.example.com", "https://api.example.com"}, Expires: at(20)},
		{ID: "3", Name: "Old laptop", Uses: []string{"https://api.example.com"}, Used: at(-40), Expires: at(-9), Expired: true},
		{ID: "4", Name: "Alter Rechner", Expires: at(90), Sealed: true}}
	made, revoked, bad, gone, full, one := some, some, some, some, some, empty
	made.Made, made.MadeName = "asv1_0123456789abcdefghijABCDEFGHIJklmnopqrstuv_abcdef", "Nightly backup"
	revoked.Revoked, full.Full = true, true
	bad.Error, bad.Typed, bad.RequestID = "Invalid", "ci\x07", "k3v9x2m7"
	gone.Error, gone.RequestID = "NotFound", "k3v9x2m7"
	one.Uses = uses[:1]
	fullError := full
	fullError.Error, fullError.RequestID = "Invalid", "k3v9x2m7"
	return []state{{"tokens", Tokens, some}, {"tokens-empty", Tokens, empty}, {"tokens-one-use", Tokens, one}, {"tokens-made", Tokens, made}, {"tokens-revoked", Tokens, revoked},
		{"tokens-bad", Tokens, bad}, {"tokens-gone", Tokens, gone}, {"tokens-full", Tokens, full}, {"tokens-full-error", Tokens, fullError}}
}
