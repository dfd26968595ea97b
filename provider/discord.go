package provider

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"authsvc"
)

func discordEntry() Entry {
	return Entry{
		ID: "discord", Name: "Discord", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://discord.com/developers/docs/topics/oauth2",
		New:  plain(Discord),
	}
}

// Discord signs in with a Discord account. The email address is verified if Discord
// says so.
//
// https://discord.com/developers/docs/topics/oauth2
func Discord(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "discord", Name: "Discord", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://discord.com/oauth2/authorize",
			Token:         "https://discord.com/api/oauth2/token",
			UserInfo:      "https://discord.com/api/users/@me",
			Revocation:    "https://discord.com/api/oauth2/token/revoke",
		},
		Scope: "identify email",
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "global_name|username",
			Email:         "email",
			EmailVerified: "verified",
			Image:         "image_url",
		},
		Hooks: authsvc.Hooks{
			UserInfo: discordProfile,
		},
		Style: authsvc.Style{Logo: "discord", Background: "#5865f2", Text: "#ffffff"},
	}
}

func discordProfile(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	profile["image_url"] = discordAvatar(profile.Text("id"), profile.Text("avatar"), profile.Text("discriminator"))
	return profile, nil
}

// discordAvatar returns the URL of an avatar. A profile has the hash of its avatar;
// without one, the URL is one of Discord's few default avatars. Old-style accounts have
// a discriminator, the number after the name.
func discordAvatar(id, hash, discriminator string) string {
	const cdn = "https://cdn.discordapp.com/"
	if hash != "" {
		end := ".png"
		if strings.HasPrefix(hash, "a_") {
			end = ".gif" // animated
		}
		return cdn + "avatars/" + url.PathEscape(id) + "/" + url.PathEscape(hash) + end
	}
	n, err := strconv.ParseUint(discriminator, 10, 16)
	n %= 5
	if discriminator == "0" || discriminator == "" {
		n, err = strconv.ParseUint(id, 10, 64)
		n = (n >> 22) % 6
	}
	if err != nil {
		return ""
	}
	return cdn + "embed/avatars/" + strconv.FormatUint(n, 10) + ".png"
}
