package provider

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"authsvc"
)

// personalTenant is the tenant of all personal Microsoft accounts.
const personalTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"

// MicrosoftOptions selects the directories whose people may sign in, the cloud, and the
// size of photos.
type MicrosoftOptions struct {
	// TenantID is the GUID of the only directory whose people may sign in, or common
	// (default: any directory and personal accounts), organizations (any directory) or
	// consumers (personal accounts).
	TenantID string
	// Authority is the origin of a national cloud. Default:
	// https://login.microsoftonline.com.
	Authority string
	// PhotoSize requests the person's photo, as wide and high as this number of pixels:
	// 48, 64, 96 or 120.
	// It adds the permission User.Read. Photos over 6 KiB are omitted. Default: no
	// photo.
	PhotoSize string
}

func microsoftEntraIDEntry() Entry {
	return Entry{
		ID: "microsoft-entra-id", Name: "Microsoft Entra ID", Aliases: []string{"microsoft", "azureadv2", "microsoftonline", "azure"}, Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc",
		Options: microsoftOptions(),
		Notes:   microsoftNotes(),
		New:     microsoftEntraID,
	}
}

// MicrosoftEntraID signs in with work, school and personal Microsoft accounts. Each
// directory has its own issuer, which is checked against the claim tid. If many
// directories may sign in, OAuth.Tenants lists the accepted ones. The id is the claim
// sub, which differs for each application and person. With several directories, and
// outside the compat modes, the account's id is TENANT/SUB.
//
// In most directories an administrator enters the email addresses, and anyone can have
// a directory, so no address counts as verified. To trust the owners of mail domains,
// add the optional claim xms_edov to the application and set Fields.EmailVerified to
// it. A photo is a file, not a URL; it is fetched only with MicrosoftOptions.PhotoSize.
//
// https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc
func MicrosoftEntraID(c authsvc.Client, options MicrosoftOptions) (*authsvc.OAuth, error) {
	o := &authsvc.OAuth{
		ID: "microsoft-entra-id", Name: "Microsoft Entra ID", Client: c,
		OpenID:          true,
		PairwiseSubject: true,
		Scope:           "openid profile email",
		Fields:          authsvc.Fields{Name: "name", EmailVerified: never},
		VerifiedText:    true, // xms_edov may be a text
		Style:           authsvc.Style{Logo: "microsoft", Background: "#0072c6", Text: "#ffffff"},
	}
	authority := withoutSlash(cmp.Or(options.Authority, "https://login.microsoftonline.com"))
	switch tenant := strings.ToLower(cmp.Or(options.TenantID, "common")); {
	case tenant == "common", tenant == "organizations":
		o.Issuer = authority + "/{tenantid}/v2.0"
		o.Endpoints.Discovery = authority + "/" + tenant + "/v2.0/.well-known/openid-configuration"
		if tenant == "organizations" {
			o.Hooks.UserInfo = noPersonalAccount
		}
	case tenant == "consumers":
		o.Issuer = authority + "/" + personalTenant + "/v2.0"
	case isGUID(tenant):
		o.Issuer = authority + "/" + tenant + "/v2.0"
	default: // a domain name does not determine the issuer
		return nil, &OptionError{Key: "tenant_id", Problem: "is neither a GUID nor common, organizations or consumers",
			Fix: "copy the Directory (tenant) ID from the overview of the application"}
	}
	if err := withPhoto(o, authority, options.PhotoSize); err != nil {
		return nil, err
	}
	return o, nil
}

// graphHosts maps an authority to the host of its photos.
func graphHosts() map[string]string {
	return map[string]string{
		"https://login.microsoftonline.com":        "https://graph.microsoft.com",
		"https://login.microsoftonline.us":         "https://graph.microsoft.us",
		"https://login.partner.microsoftonline.cn": "https://microsoftgraph.chinacloudapi.cn",
	}
}

// withPhoto adds the photo to the profile. People without a photo can still sign in.
func withPhoto(o *authsvc.OAuth, authority, size string) error {
	if size == "" {
		return nil
	}
	if !slices.Contains([]string{"48", "64", "96", "120"}, size) {
		return &OptionError{Key: "profile_photo_size", Problem: "is not a size", Fix: "use 48, 64, 96 or 120"}
	}
	graph := graphHosts()[authority]
	if graph == "" {
		return &OptionError{Key: "profile_photo_size", Problem: "is available only in the clouds of Microsoft", Fix: "leave it out, or leave authority out"}
	}
	before := o.Hooks.UserInfo
	o.Scope += " User.Read"
	o.Hosts = append(o.Hosts, strings.TrimPrefix(graph, "https://"))
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		if before != nil {
			if _, err := before(ctx, x); err != nil {
				return nil, err
			}
		}
		photo, err := x.Picture(ctx, graph+"/v1.0/me/photos/"+size+"x"+size+"/$value")
		if err != nil {
			return nil, fmt.Errorf("microsoft: photo: %w", err)
		}
		profile := maps.Clone(x.Claims)
		profile["picture"] = photo
		return profile, nil
	}
	return nil
}

func microsoftEntraID(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	o, err := MicrosoftEntraID(c, MicrosoftOptions{TenantID: options["tenant_id"], Authority: options["authority"], PhotoSize: options["profile_photo_size"]})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// microsoftOptions returns the options of both Microsoft providers.
func microsoftOptions() []Option {
	return []Option{
		{Key: "tenant_id", Doc: "the Directory (tenant) ID, or common (default), organizations or consumers", Example: "aaaabbbb-0000-cccc-1111-dddd2222eeee"},
		{Key: "authority", Doc: "the origin of a national cloud, such as https://login.microsoftonline.us", Example: "https://login.microsoftonline.us"},
		{Key: "profile_photo_size", Doc: "48, 64, 96 or 120: fetch the photo in that many pixels", Example: "48"},
	}
}

// microsoftNotes returns the notes of both Microsoft providers.
func microsoftNotes() []string {
	return []string{
		"Without tenant_id, people from any directory and with any personal account may sign in. To accept only some directories, list their ids in the provider's key `tenants`.",
		"With tenant_id common or organizations, the id of a new account is TENANT/SUB; in compat modes it is SUB, as in NextAuth.js. authsvc finds an account stored under either id. That is safe, because Microsoft gives no two people the same sub.",
		"To trust the claim xms_edov, add it to the application as an optional claim and set profile.email_verified: xms_edov.",
		"External ID has its own issuers: set authority to https://GUID.ciamlogin.com, and tenant_id to the same GUID.",
		"An application with its own signing keys needs a discovery_url that ends in ?appid=CLIENT_ID.",
		"For calls to Microsoft Graph, add User.Read to the scope; for a refresh token, add offline_access.",
	}
}

// noPersonalAccount refuses personal accounts even if a browser was sent to another
// endpoint than the one for organizations.
func noPersonalAccount(_ context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	if x.Claims["tid"] == personalTenant {
		return nil, fmt.Errorf("microsoft: a personal account: %w", authsvc.ErrAccessDenied)
	}
	return x.Claims, nil
}

// isGUID reports whether s has the form of 8-4-4-4-12 hexadecimal digits.
func isGUID(s string) bool {
	for i, r := range s {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash && r != '-' || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return false
		}
	}
	return len(s) == 36
}
