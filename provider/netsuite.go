package provider

import (
	"strings"

	"authsvc"
	"authsvc/internal/text"
)

func netSuiteEntry() Entry {
	return Entry{
		ID: "netsuite", Name: "NetSuite", Protocol: "oauth2", Email: EmailIssuer,
		Docs: "https://docs.oracle.com/en/cloud/saas/netsuite/ns-online-help/chapter_157769826287.html",
		Options: []Option{
			{Key: "account_id", Doc: "the id of the account, such as 1234567_SB1", Example: "1234567_SB1", Required: true},
			{Key: "userinfo", Doc: "the URL of the RESTlet that answers runtime.getCurrentUser()", Example: "https://1234567-sb1.restlets.api.netsuite.com/app/site/hosting/restlet.nl?script=1&deploy=1", Required: true},
		},
		Notes: []string{
			noteTrustEmail,
		},
		New: netSuite,
	}
}

// NetSuite signs in with an Oracle NetSuite account. NetSuite has no profile endpoint:
// deploy a RESTlet that returns the result of runtime.getCurrentUser() and pass its
// URL. accountID is written as NetSuite shows it, such as 1234567_SB1. If you trust its
// email addresses, set TrustEmail.
//
// https://docs.oracle.com/en/cloud/saas/netsuite/ns-online-help/chapter_157769826287.html
func NetSuite(c authsvc.Client, accountID, restlet string) *authsvc.OAuth {
	host := strings.ReplaceAll(strings.ToLower(accountID), "_", "-")
	return &authsvc.OAuth{
		ID: "netsuite", Name: "NetSuite", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://" + host + ".app.netsuite.com/app/login/oauth2/authorize.nl",
			Token:         "https://" + host + ".suitetalk.api.netsuite.com/services/rest/auth/oauth2/v1/token",
			UserInfo:      restlet,
		},
		Scope:  "restlets rest_webservices",
		Fields: authsvc.Fields{ID: "id", Name: "name", Email: "email", EmailVerified: never},
		Style:  authsvc.Style{Background: "#181a1b", Text: "#fbfbfb"},
	}
}

// accountName matches account ids, which become part of host names.
var accountName = text.LazyRegexp(`^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$`)

func netSuite(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	switch {
	case options["account_id"] == "":
		return nil, missing("account_id")
	case !accountName.MatchString(options["account_id"]):
		return nil, &OptionError{Key: "account_id", Problem: "is not an account id", Fix: "write it as NetSuite shows it, such as 1234567_SB1"}
	case options["userinfo"] == "":
		return nil, missing("userinfo")
	}
	return NetSuite(c, options["account_id"], options["userinfo"]), nil
}
