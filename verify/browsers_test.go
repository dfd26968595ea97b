package verify

// A browserCheck is the part of a check that needs a real browser, or a whole check.
type browserCheck struct {
	title string // for whole checks
	run   func(t *T)
	needs []need // in addition to Chromium, for whole checks
	alone bool
}

// inBrowser holds the checks in real browsers, by id.
var inBrowser = map[string]browserCheck{
	"cookies-03": {title: "cookie tossing: duplicate session names", run: tossedSessions},
	"cookies-04": {title: "a planted signed CSRF pair", run: plantedPair},
	"cookies-07": {title: "no cookie is dropped for its size", run: oversized},
	"cookies-10": {title: "stale chunks after a shrink", run: shrunk},
	"cookies-13": {title: "the CSRF cookie is evicted from a full jar", run: evicted},
	"cookies-17": {title: "sign-out clears the cookies in every engine", run: clearedJars},
	"cookies-18": {title: "parallel tabs both finish", run: parallelTabs},
	"cookies-19": {title: "form_post without Lax cookies", run: formPosts},

	"csrf-13": {title: "unusual origins", run: oddOrigins},
	"csrf-15": {title: "login CSRF by email form", run: forgedMail},
	"csrf-16": {title: "session swapping", run: sessionSwap},
	"csrf-17": {title: "forced account linking", run: forcedLink},
	"csrf-18": {title: "forced sign-out", run: forcedSignOut},
	"csrf-19": {title: "login CSRF by magic link", run: sentLink},
	"csrf-20": {title: "clickjacking", run: framed},
	"csrf-22": {title: "script inclusion", run: included},

	"redirect-02": {title: "parsers agree on every redirect, in three engines", run: parsersAgree},
	"redirect-05": {title: "callbackUrl reflected into pages", run: reflected},
	"redirect-09": {title: "no credential leaks to later pages", run: nothingOnward},
	"redirect-13": {title: "no redirect loop", run: loops},

	"oauth2-27": {title: "authorization URL of another browser", run: fixedAuthorization},
	"oauth1-04": {title: "request-token fixation", run: fixedRequestToken},
	"email-06":  {title: "a scanner that runs scripts", run: scriptedScanner},
	"email-07":  {title: "a link on another device", run: otherDevice},

	"headers-01": {title: "a policy that holds on every page", run: policyHolds},
	"headers-05": {title: "XSS sweep", run: scriptSweep},
	"headers-07": {title: "nothing from third parties", run: noThirdParties},
	"headers-08": {title: "sign-in without scripts, by keyboard", run: withoutScripts},
	"session-15": {title: "the back button after sign-out", run: backButton},
	"session-26": {title: "no traces after sign-out", run: traces},

	"gate-13": {title: "redirect loop behind a broken proxy", run: brokenInChromium},
	"gate-21": {title: "one login over three domains, and one sign-out", run: threeInChromium},

	"logout-02": {title: "the ID token is sent by POST", run: leavesByPost},

	"e2e-01": {title: "happy paths in three engines", run: happyPaths},
	"e2e-02": {title: "an attacker's site tries everything", run: attackerKit},
	"e2e-03": {title: "the unmodified client of next-auth", run: upstreamClient, needs: []need{program("node"), program("npm")}},
	"e2e-04": {title: "private mode, and without cookies", run: withoutCookies},
	"e2e-05": {title: "back, refresh, double click, another tab", run: impatient},
}
