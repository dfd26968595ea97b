package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"authsvc/provider"
)

// TestProviderPages: docs/providers has a page for each line of the table, and the page
// says the same as the table.
func TestProviderPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "docs", "providers")
	want := map[string]string{}
	var index strings.Builder
	index.WriteString("# Identity providers\n\nGenerated from the table of package `provider`. `authsvc providers` prints the table. `authsvc check` prints the callback URLs to register, and whether discovery answers. To use a service that is not listed, set `type: oidc`, `oauth2` or `oauth1`: see [configuration](../configuration.md).\n\nAccounts are linked by address only if the address is verified. The column Email says when it is:\n\n" + emailLegend() + "\n| Id | Name | Protocol | Email |\n|---|---|---|---|\n")
	for _, e := range provider.All() {
		l, err := describeProvider(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&index, "| [`%s`](%s.md) | %s | %s | %s |\n", l.ID, l.ID, l.Name, protocolNames[l.Protocol], l.Email)
		want[l.ID+".md"] = providerPage(l)
	}
	want["README.md"] = index.String()
	if *update {
		if err := firstError(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	const command = "go test ./cmd/authsvc -run TestProviderPages -update"
	for name, text := range want {
		switch have, err := os.ReadFile(filepath.Join(dir, name)); {
		case err != nil:
			t.Errorf("%v; run %s", err, command)
		case string(have) != text:
			t.Errorf("docs/providers/%s is stale; run %s", name, command)
		}
	}
	have, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(have) != len(want) {
		t.Errorf("docs/providers has %d pages, want %d; run %s", len(have), len(want), command)
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var protocolNames = map[string]string{"oidc": "OpenID Connect", "oauth2": "OAuth 2.0", "oauth1": "OAuth 1.0a", "openid2": "OpenID 2.0", "custom": "Custom protocol"}

// emailDocs say how far an email address from a provider can be trusted.
var emailDocs = map[string]string{
	provider.EmailClaim:      "The provider says whether each address is verified; an address counts as verified only if the provider says so.",
	provider.EmailFiltered:   "Only the verified primary address is used; without one, the user has no address.",
	provider.EmailImplied:    "The provider returns only verified addresses, so they count as verified.",
	provider.EmailIssuer:     "The administrator of the server or tenant sets the addresses, so none counts as verified unless your configuration says so.",
	provider.EmailUnverified: "The provider does not vouch for the address, so it never counts as verified.",
	provider.EmailAbsent:     "The provider returns no address.",
}

// emailLegend explains the words of the index.
func emailLegend() string {
	var b strings.Builder
	for _, word := range []string{provider.EmailClaim, provider.EmailFiltered, provider.EmailImplied, provider.EmailIssuer, provider.EmailUnverified, provider.EmailAbsent} {
		fmt.Fprintf(&b, "- **%s**: %s\n", word, emailDocs[word])
	}
	return b.String()
}

func providerPage(l listedProvider) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s, id `%s`", l.Name, protocolNames[l.Protocol], l.ID)
	if len(l.Aliases) > 0 {
		fmt.Fprintf(&b, " (also `%s`)", strings.Join(l.Aliases, "`, `"))
	}
	b.WriteString(".\n\n")
	if l.Docs != "" {
		fmt.Fprintf(&b, "Register an application: <%s>. ", l.Docs)
	}
	fmt.Fprintf(&b, "The callback URL is\n\n```\nhttps://YOUR.HOST/api/auth/callback/%s\n```\n\n```yaml\nproviders:\n  - id: %s\n", l.ID, l.ID)
	variable := "AUTHSVC_" + strings.ToUpper(strings.ReplaceAll(l.ID, "-", "_")) + "_"
	var variables []string
	line := func(key, value, name string) {
		fmt.Fprintf(&b, "    %s: %s\n", key, value)
		variables = append(variables, "`"+variable+name+"`")
	}
	if !l.NoClient {
		line("client_id", `"…"`, "ID")
	}
	if !l.NoSecret {
		line("client_secret", `"…"`, "SECRET")
	}
	for _, o := range l.Options {
		if o.Required {
			example := fmt.Sprintf("%q", o.Example)
			if o.Secret {
				example = `"…"`
			}
			line(o.Key, example, strings.ToUpper(o.Key))
		}
	}
	fmt.Fprintf(&b, "```\n\nor in the environment: %s.\n", strings.Join(variables, ", "))
	if len(l.Options) > 0 {
		b.WriteString("\n| Option | | Meaning |\n|---|---|---|\n")
		for _, o := range l.Options {
			need := "optional"
			if o.Required {
				need = "required"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Key, need, o.Doc)
		}
	}
	b.WriteString("\n")
	if l.Scope != "" {
		fmt.Fprintf(&b, "- Scope: `%s`.\n", l.Scope)
	}
	if l.Protocol == "oidc" || l.Protocol == "oauth2" {
		fmt.Fprintf(&b, "- PKCE: %s.\n", map[bool]string{true: "yes", false: "no, the provider does not support it"}[l.PKCE])
	}
	fmt.Fprintf(&b, "- Email: %s\n", emailDocs[l.Email])
	for _, note := range l.Notes {
		fmt.Fprintf(&b, "- %s\n", note)
	}
	return b.String()
}

// TestProviderPagesCoverTable: every word of the table has a sentence on the pages, and
// the README has the right number of providers.
func TestProviderPagesCoverTable(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		if emailDocs[e.Email] == "" || protocolNames[e.Protocol] == "" {
			t.Errorf("%s: %s, %s", e.ID, e.Email, e.Protocol)
		}
	}
	count := fmt.Sprintf("%d identity providers", len(provider.All()))
	raw, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), count) {
		t.Errorf("README.md does not say %q", count)
	}
}
