package provider

import "authsvc"

func planningCenterEntry() Entry {
	return Entry{
		ID: "planningcenter", Name: "Planning Center", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developer.planning.center/docs/#/overview/authentication",
		New:  plain(PlanningCenter),
	}
}

// PlanningCenter signs in with a Planning Center account. The id is specific to a
// person within one organization. Inactive people are refused. The profile has no
// email address: the API keeps addresses in separate resources.
//
// https://developer.planning.center/docs/#/overview/authentication
func PlanningCenter(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "planningcenter", Name: "Planning Center", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://api.planningcenteronline.com/oauth/authorize",
			Token:         "https://api.planningcenteronline.com/oauth/token",
			UserInfo:      "https://api.planningcenteronline.com/people/v2/me",
		},
		Scope:      "people",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:    "data.id",
			Name:  "data.attributes.name",
			Email: never,
			Image: "data.attributes.avatar",
		},
		Hooks: authsvc.Hooks{
			UserInfo: activeUser("planningcenter", "data.attributes.status", "active"),
		},
		Style: authsvc.Style{Background: "#2565f4", Text: "#ffffff"},
	}
}
