package main

// program are the checks of the command and of what it opens.
var program = []mutation{
	{"sqlite/hard-link", "adapter/sqlite", "case links > 1:", "case false:", "./adapter/sqlite"},
	{"sqlite/mounted", "adapter/sqlite", "case mounted:", "case false:", "./adapter/sqlite"},
	{"sqlite/exposed", "adapter/sqlite", "if err == nil && names != \"\" {", "if false {", "./adapter/sqlite"},
	{"sqlite/exposed-in-compat", "cmd/authsvc", "migrate, !sameCompat(s.Engine.Compat, authsvc.CompatNone)", "migrate, false", "./cmd/authsvc"},
	{"dev/inbox-of-another-site", "internal/devsite", "err := http.NewCrossOriginProtection().Check(r); err != nil {", "false {", "./internal/dev"},
	{"dev/gate", "internal/dev", "if !w.gate.knows(r) {", "if false {", "./internal/dev"},
	{"dev/token", "internal/dev", "|| subtle.ConstantTimeCompare(sum[:], g.unused[:]) != 1 {", "|| subtle.ConstantTimeCompare(sum[:], g.unused[:]) > 1 {", "./internal/dev"},
	{"dev/mail-runs-nothing", "internal/devsite", `setHeaders(w.Header(), "no-referrer", mailPolicy)`, `setHeaders(w.Header(), "no-referrer", "frame-ancestors 'self'")`, "./internal/dev"},
	{"migrate/confirmed", "cmd/authsvc", "if !isTerminal(p.stdin) {", "if false {", "./cmd/authsvc"},
	{"redirect/htmx-page", ".", `if page, ok := rq.allowedURL(h.Get("HX-Current-URL")); ok {`, `if page := h.Get("HX-Current-URL"); page != "" {`, "."},
	{"dev/public-url", "devidp", "if !weburl.Loopback(u.Hostname()) {", "if false && u != nil {", "./devidp"},
	{"dev/public-listener", "devidp", "err != nil || !at.Addr().IsLoopback() {", "err != nil || !at.IsValid() {", "./devidp"},
	{"dev/rebinding", "devidp", `if "http://"+r.Host != d.origin {`, `if false {`, "./devidp"},
	{"pages/logo-is-an-image", "internal/pages", "if got := imageKind([]byte(raw)); got != kind {", "if false {", "./internal/pages"},
	{"pages/logo-origin", "internal/pages", "u.User != nil || !plainHost.MatchString(u.Host) {", "u.User != nil {", "./internal/pages"},
	{"pages/mark-url", "internal/pages", `if strings.HasPrefix(logo, "https://") || strings.HasPrefix(logo, "data:image/") {`, "if logo != \"\" && !knownMark(logo) {", "./internal/pages"},
	{"mails/text-link", "internal/mailtext", "} else if !strings.Contains(s, d.URL) {", "} else if " + never + "!strings.Contains(s, d.URL) {", "./internal/mailtext"},
	{"mails/html-link", "internal/mailtext", "} else if !hasLink(s, d.URL) {", "} else if " + never + "!hasLink(s, d.URL) {", "./internal/mailtext"},
	{"marks/integrity", "internal/tools/marks", "got != integrity {", "false {", "./internal/tools/marks"},
	{"marks/licence", "internal/tools/marks", "l != nil && l.Type != packageLicence {", "false {", "./internal/tools/marks"},
}
