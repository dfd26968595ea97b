package provider

// Discontinued reports whether id is a provider that no longer exists. If so, it also
// returns what happened to it and what to use instead.
func Discontinued(id string) (string, bool) {
	fate, ok := map[string]string{
		"azure-devops":     "it has accepted no new applications since April 2025; use microsoft-entra-id",
		"fitbit":           "the Fitbit Web API ends in September 2026; its successor, the Google Health API, signs in with google",
		"identity-server4": "the product has had no support since the end of 2022; use duende-identity-server6, or type: oidc with the issuer of a server that still runs",
		"influxcloud":      "the accounts of InfluxDB Cloud 1 are retired and have no successor that signs people in",
		"medium":           "the API has had no support since March 2023 and accepts no new applications; there is no successor",
		"onedrive":         "the Live SDK is retired; use microsoft-entra-id",
		"osso":             "the project has been without activity since 2021; use boxyhq-saml for SAML",
		"passage":          "the service shut down in January 2026; use another provider of OpenID Connect, such as auth0 or descope",
		"typetalk":         "the service ended in December 2025; there is no successor",
		"wepay":            "the platform was merged into J.P. Morgan's, which has no sign-in",
		"yammer":           "its own sign-in was superseded; use microsoft-entra-id",
	}[id]
	return fate, ok
}
