package provider

// The table has a line for each provider, ordered by id: a to l here, m to z
// in table_m.go.
func tableA() []Entry {
	return []Entry{
		{ID: "github", Name: "GitHub", Protocol: "oauth2", Email: EmailFiltered, New: plain(GitHub),
			Docs: "https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps"},
		{ID: "google", Name: "Google", Protocol: "oidc", Email: EmailClaim, New: plain(Google),
			Docs: "https://developers.google.com/identity/openid-connect/openid-connect"},
	}
}
