package main

// program are the checks of the command and of what it opens.
var program = []mutation{
	{"sqlite/hard-link", "adapter/sqlite", "case links > 1:", "case false:", "./adapter/sqlite"},
	{"sqlite/mounted", "adapter/sqlite", "case mounted:", "case false:", "./adapter/sqlite"},
	{"sqlite/exposed", "adapter/sqlite", "if err == nil && names != \"\" {", "if false {", "./adapter/sqlite"},
	{"sqlite/exposed-in-compat", "cmd/authsvc", "migrate, !sameCompat(s.Engine.Compat, authsvc.CompatNone)", "migrate, false", "./cmd/authsvc"},
	{"dev/inbox-of-another-site", "internal/dev", "err := http.NewCrossOriginProtection().Check(r); err != nil {", "false {", "./internal/dev"},
}
