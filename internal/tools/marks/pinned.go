package main

// The package of the outlines. To update, set the version here, and the integrity
// that "npm view simple-icons@VERSION dist.integrity" prints.
const (
	packageName      = "simple-icons"
	packageVersion   = "16.37.0"
	packageIntegrity = "sha512-8mCJIhpMYOL9g13GW59EiL3sVXJnTEKGCTZFaekl9UQ3Qo0SwVjnLaJ82QiaH8BKBdouEDzrHMXIWh8cBIy48A=="
	packageLicence   = "CC0-1.0"
)

// maxOutline limits the path data of one logo, in bytes, because the page contains
// it.
const maxOutline = 3000

// A wanted logo is called Name in authsvc.Style.Logo and Slug in the package.
type wanted struct{ Name, Slug string }

// marks returns the logos to take. The package has no logos of Amazon, LinkedIn,
// Microsoft, Salesforce, Slack, Yahoo or Yandex. The logos of Forgejo, Keycloak and
// Webex have licences of their own. The logos of Coinbase, Kakao, Uber and Zoom are
// words, illegible on a button; Bungie's, Mailchimp's, Meetup's, osu!'s and Zoho's
// are too long.
func marks() []wanted {
	var list []wanted
	for _, name := range []string{
		"42", "apple", "atlassian", "auth0", "authentik", "bitbucket", "bitly", "box", "clickup", "codeberg",
		"deezer", "digitalocean", "discord", "dribbble", "dropbox", "facebook", "faceit", "figma", "foursquare", "fusionauth",
		"gitea", "gitee", "github", "gitlab", "gumroad", "hubspot", "huggingface", "instagram", "intercom", "kick",
		"line", "linear", "livechat", "mastodon", "mattermost", "naver", "netlify", "nextcloud", "notion", "okta", "openid", "ory",
		"patreon", "paypal", "pinterest", "railway", "reddit", "roblox", "shopify", "simplelogin", "snapchat", "soundcloud",
		"spotify", "steam", "strava", "stripe", "threads", "tiktok", "todoist", "trakt", "tumblr", "twitch", "vercel",
		"vk", "wakatime", "wechat", "wordpress", "x", "xero",
	} {
		list = append(list, wanted{name, name})
	}
	return append(list, wanted{"battlenet", "battledotnet"}, wanted{"flyio", "flydotio"}, wanted{"lastfm", "lastdotfm"}, wanted{"mailru", "maildotru"})
}
