package provider

import "authsvc"

func nextcloudEntry() Entry {
	return Entry{
		ID: "nextcloud", Name: "Nextcloud", Protocol: "oauth2", Email: EmailUnverified,
		Docs:    "https://docs.nextcloud.com/server/latest/admin_manual/configuration_server/oauth2.html",
		Options: issuerOption("https://cloud.example.com"),
		New:     withIssuer(Nextcloud),
	}
}

// Nextcloud signs in with a Nextcloud server. The email address is unverified: people
// may change it unless the administrator forbids that. There are no scopes.
//
// https://docs.nextcloud.com/server/latest/admin_manual/configuration_server/oauth2.html
func Nextcloud(c authsvc.Client, issuer string) *authsvc.OAuth {
	base := withoutSlash(issuer)
	return &authsvc.OAuth{
		ID: "nextcloud", Name: "Nextcloud", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/apps/oauth2/authorize",
			Token:         base + "/apps/oauth2/api/v1/token",
			UserInfo:      base + "/ocs/v2.php/cloud/user?format=json",
		},
		UserInfo: authsvc.UserInfo{
			Headers: map[string]string{"OCS-APIRequest": "true"},
		},
		Fields: authsvc.Fields{
			ID:            "ocs.data.id",
			Name:          "ocs.data.displayname|ocs.data.display-name",
			Email:         "ocs.data.email",
			EmailVerified: never,
			Image:         base + "/avatar/{ocs.data.id}/512",
		},
		Style: authsvc.Style{Logo: "nextcloud", Background: "#ffffff", Text: "#000000"},
	}
}
