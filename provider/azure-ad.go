package provider

import "authsvc"

func azureADEntry() Entry {
	return Entry{
		ID: "azure-ad", Name: "Azure Active Directory", Aliases: []string{"azuread"}, Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc",
		Options: microsoftOptions(),
		Notes:   append([]string{"This is microsoft-entra-id under its former name, for accounts stored under that name."}, microsoftNotes()...),
		New:     azureAD,
	}
}

// AzureAD is [MicrosoftEntraID] under its former id, for applications that have stored
// accounts under that id.
//
// https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc
func AzureAD(c authsvc.Client, options MicrosoftOptions) (*authsvc.OAuth, error) {
	o, err := MicrosoftEntraID(c, options)
	if err != nil {
		return nil, err
	}
	o.ID, o.Name = "azure-ad", "Azure Active Directory"
	return o, nil
}

func azureAD(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	o, err := AzureAD(c, MicrosoftOptions{TenantID: options["tenant_id"], Authority: options["authority"], PhotoSize: options["profile_photo_size"]})
	if err != nil {
		return nil, err
	}
	return o, nil
}
