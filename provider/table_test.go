package provider_test

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/provider"
)

// notProviders lists the files of this package without a constructor.
var notProviders = []string{"addresses", "discontinued", "exchange", "active", "nearest", "provider", "refresh", "table"}

// TestFiles checks that every provider has a file, a line in the table and a recording.
func TestFiles(t *testing.T) {
	t.Parallel()
	var table []string
	for _, e := range provider.All() {
		table = append(table, e.ID)
	}
	if !slices.IsSorted(table) {
		t.Errorf("the table is not in the order of ids: %v", table)
	}
	if sorted := slices.Sorted(slices.Values(table)); len(slices.Compact(sorted)) != len(table) {
		t.Errorf("an id is twice in the table: %v", table)
	}
	for _, pattern := range []string{"*.go", "testdata/*.json"} {
		if diff := gocmp.Diff(table, names(t, pattern)); diff != "" {
			t.Errorf("table and %s (-table +files):\n%s", pattern, diff)
		}
	}
}

// names returns the names of the files that match a pattern, without those in
// notProviders.
func names(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, f := range files {
		id := strings.TrimSuffix(filepath.Base(f), filepath.Ext(f))
		if !slices.Contains(notProviders, id) && !strings.HasSuffix(id, "_test") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// examples returns example options of an entry: the required ones, or all.
func examples(e provider.Entry, all bool) map[string]string {
	options := map[string]string{}
	for _, o := range e.Options {
		if o.Required || all {
			options[o.Key] = o.Example
		}
	}
	return options
}

// TestTable checks that each line is complete, and agrees with the provider it creates.
func TestTable(t *testing.T) {
	t.Parallel()
	trust := []string{provider.EmailClaim, provider.EmailFiltered, provider.EmailImplied, provider.EmailIssuer, provider.EmailUnverified, provider.EmailAbsent}
	for _, e := range provider.All() {
		p, err := e.New(authsvc.Client{ID: "client", Secret: "secret"}, examples(e, false))
		if err != nil {
			t.Errorf("%s: %v", e.ID, err)
			continue
		}
		if o, ok := p.(*authsvc.OAuth); ok {
			if o.ID != e.ID || o.Name != cmp.Or(e.Button, e.Name) || o.Client.ID != "client" || o.Client.Secret != "secret" && !e.NoSecret || o.OpenID != (e.Protocol == "oidc") {
				t.Errorf("%s: the constructor and the table disagree", e.ID)
			}
			if !colour.MatchString(o.Style.Background) || !colour.MatchString(o.Style.Text) || o.Style.Logo != "" && o.Style.Logo != cmp.Or(otherMarks[e.ID], e.ID) {
				t.Errorf("%s: style %+v", e.ID, o.Style)
			}
		}
		checkOther(t, e, p)
		if !slices.Contains(trust, e.Email) || !slices.Contains([]string{"oidc", "oauth2", "oauth1", "openid2", "custom"}, e.Protocol) {
			t.Errorf("%s: email %q, protocol %q", e.ID, e.Email, e.Protocol)
		}
		if u, err := url.Parse(e.Docs); err != nil || u.Scheme != "https" || u.Host == "" {
			t.Errorf("%s: docs %q", e.ID, e.Docs)
		}
		for _, n := range e.Notes {
			if !strings.HasSuffix(n, ".") {
				t.Errorf("%s: %q is not a sentence", e.ID, n)
			}
		}
	}
}

// otherMarks maps provider ids to marks with other names.
var otherMarks = map[string]string{
	"42-school": "42", "azure-ad": "microsoft", "azure-ad-b2c": "microsoft", "click-up": "clickup", "fly": "flyio", "hydra": "ory",
	"microsoft-entra-id": "microsoft", "oidc": "openid", "twitter": "x", "vercel-marketplace": "vercel",
}

// checkOther is TestTable for protocols other than OAuth 2.0.
func checkOther(t *testing.T, e provider.Entry, p authsvc.Provider) {
	t.Helper()
	var id, name string
	var style authsvc.Style
	switch o := p.(type) {
	case *authsvc.OAuth:
		if e.Protocol == "oauth1" || e.Protocol == "openid2" || e.NoClient {
			t.Errorf("%s: protocol %s, no client: %v", e.ID, e.Protocol, e.NoClient)
		}
		return
	case *authsvc.OAuth1:
		id, name, style = o.ID, o.Name, o.Style
		if e.Protocol != "oauth1" || o.Client != (authsvc.Client{ID: "client", Secret: "secret"}) {
			t.Errorf("%s: protocol %s", e.ID, e.Protocol)
		}
	case *authsvc.OpenID2:
		id, name, style = o.ID, o.Name, o.Style
		if e.Protocol != "openid2" || !e.NoClient || !e.NoSecret {
			t.Errorf("%s: protocol %s", e.ID, e.Protocol)
		}
	}
	if id != e.ID || name != cmp.Or(e.Button, e.Name) || !colour.MatchString(style.Background) || !colour.MatchString(style.Text) {
		t.Errorf("%s: the constructor and the table disagree", e.ID)
	}
}

var (
	colour = regexp.MustCompile(`^#[0-9a-f]{6}$`)
	key    = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
)

// TestOptions checks that an error asks for each required option by name, and for no
// other.
func TestOptions(t *testing.T) {
	t.Parallel()
	client := authsvc.Client{ID: "client", Secret: "secret"}
	for _, e := range provider.All() {
		for _, o := range e.Options {
			if !key.MatchString(o.Key) || o.Doc == "" || o.Required && o.Example == "" {
				t.Errorf("%s: option %+v", e.ID, o)
			}
			options := examples(e, false)
			delete(options, o.Key)
			_, err := e.New(client, options)
			var wrong *provider.OptionError
			if o.Required && (!errors.As(err, &wrong) || wrong.Key != o.Key || wrong.Problem == "" || wrong.Fix == "") {
				t.Errorf("%s without %s: %v", e.ID, o.Key, err)
			}
			if err != nil && (strings.Contains(err.Error(), "authsvc ") || wrong != nil && wrong.Problem == "is missing" && !strings.Contains(wrong.Fix, o.Doc) && e.ID != "workos") {
				t.Errorf("%s without %s: %q does not describe the option, or names a command that embedders lack", e.ID, o.Key, err)
			}
		}
		if _, err := e.New(client, examples(e, true)); err != nil {
			t.Errorf("%s: %v", e.ID, err)
		}
	}
}

// TestTrust checks that recordings agree with the table about addresses. Each kind that
// can be verified must have a case that is and one that is not.
func TestTrust(t *testing.T) {
	t.Parallel()
	for _, e := range provider.All() {
		seen := map[bool]bool{}
		email := false
		for _, rec := range recordings(t, e.ID) {
			if rec.Want != nil {
				seen[rec.Want.Verified] = true
				email = email || rec.Want.Email != ""
			}
		}
		vouched := slices.Contains([]string{provider.EmailClaim, provider.EmailFiltered, provider.EmailImplied}, e.Email)
		switch {
		case vouched && (!seen[true] || !seen[false] && e.Email != provider.EmailImplied):
			t.Errorf("%s: addresses are %s, recorded are %v", e.ID, e.Email, slices.Collect(maps.Keys(seen)))
		case !vouched && seen[true]:
			t.Errorf("%s: addresses are %s, but one counts as verified", e.ID, e.Email)
		case (e.Email == provider.EmailAbsent) == email:
			t.Errorf("%s: addresses are %s, and there is one: %v", e.ID, e.Email, email)
		}
	}
}

// TestAliases checks that an alias is not another provider's id or alias, and leads to
// its own provider.
func TestAliases(t *testing.T) {
	t.Parallel()
	taken := map[string]string{}
	for _, e := range provider.All() {
		for _, id := range append([]string{e.ID}, e.Aliases...) {
			if taken[id] != "" {
				t.Errorf("%s is of %s and of %s", id, taken[id], e.ID)
			}
			taken[id] = e.ID
			if got, ok := provider.Lookup(id); !ok || got.ID != e.ID {
				t.Errorf("%s leads to %q", id, got.ID)
			}
			if fate, gone := provider.Discontinued(id); gone {
				t.Errorf("%s is discontinued: %s", id, fate)
			}
		}
	}
	if _, ok := provider.Lookup("unknown"); ok {
		t.Error("an unknown provider is found")
	}
}

func TestDiscontinued(t *testing.T) {
	t.Parallel()
	fate, ok := provider.Discontinued("medium")
	if !ok || fate == "" {
		t.Errorf("medium: %q, %v", fate, ok)
	}
	if fate, ok := provider.Discontinued("github"); ok {
		t.Errorf("github: %s", fate)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"gogle": "google", "GitHub": "github", "git": "github", "googel": "google"} {
		if got := provider.Nearest(id); !slices.Contains(got, want) || len(got) > 3 {
			t.Errorf("%s: %v", id, got)
		}
	}
	for _, id := range []string{"", "zzzzzzzzzzzz", strings.Repeat("github", 20)} {
		if got := provider.Nearest(id); len(got) > 0 {
			t.Errorf("%q: %v", id, got)
		}
	}
}
