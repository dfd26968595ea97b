package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/engine"
	tables "authsvc/internal/sql/stores"
	"authsvc/internal/text/plainlog"
)

type checkCommand struct {
	Offline bool `help:"Do not contact identity providers and mail servers."`
	Deep    bool `help:"Read all records: name each address that is not in normal form and each pair that collides, and count the records that later secrets have sealed."`
}

// checkTimeout is how long each service may take to answer.
const checkTimeout = 20 * time.Second

// Run prints a line for each part, with the callback URLs to register. It changes
// nothing.
func (c *checkCommand) Run(p *program) error {
	s, err := p.load(nil)
	var mistakes config.Mistakes
	if errors.As(err, &mistakes) {
		for _, m := range mistakes {
			fmt.Fprintln(p.stdout, "wrong ", m.Text())
		}
		return errFindings
	}
	if err != nil {
		return err
	}
	service, err := prepareEngine(s, addToConditions(s))
	if err != nil {
		return err
	}
	k := &checker{program: p, settings: s, service: service, deep: c.Deep}
	k.report("configuration", s.String()[len("settings of "):], nil)
	k.reportWarnings(s.Warnings)
	k.checkProxy()
	k.checkStorage()
	k.checkProviders(c.Offline)
	k.checkGate(c.Offline)
	if k.wrong {
		return errFindings
	}
	return nil
}

// checkProxy reports variables that name a proxy for other programs, without their
// values, which may contain a password.
func (k *checker) checkProxy() {
	if k.settings.Engine.Outbound.Proxy != "" {
		return
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if k.env[name] != "" {
			k.reportWarnings([]string{name + " is set, but authsvc does not use it: it calls providers and hooks directly, or through outbound.proxy (AUTHSVC_OUTBOUND_PROXY)"})
			return
		}
	}
}

// A checker checks each part and prints the results.
type checker struct {
	*program
	settings *config.Settings
	service  *engine.Operator
	deep     bool
	wrong    bool
}

func (k *checker) report(part, text string, err error) {
	verdict := "ok    "
	if err != nil {
		verdict, text, k.wrong = "wrong ", oneLine(err), true
	}
	fmt.Fprintln(k.stdout, verdict, part+":", text)
}

// oneLine joins the lines of an error.
func oneLine(err error) string { return plainlog.OneLine(err) }

// checkStorage checks the store and its schema. It does not create a store, because a
// store must belong to the user that runs the service.
func (k *checker) checkStorage() {
	ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
	defer cancel()
	if missing, err := storeIsMissing(k.settings); missing || err != nil {
		k.reportNewStore(err)
		return
	}
	st, err := openStore(ctx, k.settings, false)
	if err != nil {
		k.report("storage", "", err)
		return
	}
	text, current, err := k.storageStatus(ctx, st)
	if err == nil && current && st.Adapter != nil {
		defer k.checkSecrets(ctx, st)()
		defer k.checkSealed(st)()
		defer k.checkSigningKeys(ctx, st)()
	}
	var shared []sharedLine
	if st.schema != nil {
		var listing error
		if shared, listing = sharedLines(ctx, k.settings, st.schema); err == nil {
			err = listing
		}
	}
	k.report("storage", describeStorage(k.settings)+text, errors.Join(err, st.close()))
	for _, line := range shared {
		if line.exists {
			k.report("table", line.text, nil)
		} else {
			k.reportWarnings([]string{"table: " + line.text})
		}
	}
	k.reportWarnings(st.warnings)
}

// reportNewStore reports a store that serve would create.
func (k *checker) reportNewStore(err error) {
	s := k.settings
	d := drivers()[storageScheme(s)]
	if err == nil {
		if err = d.canCreate(s.Storage.URL); err != nil {
			err = config.Mistakes{unusable(s, "storage.url", err)}
		}
	}
	text := describeStorage(s) + " does not exist yet; serve creates it"
	if columns := s.Storage.Naming.UserColumns; len(columns) > 0 {
		text += ", with these columns in the table of users, as text: " + strings.Join(columns, ", ")
	}
	k.report("storage", text, err)
	if err == nil && !sameCompat(s.Engine.Compat, authsvc.CompatNone) {
		k.reportWarnings([]string{fmt.Sprintf("storage: with compat %s the database usually exists already, and a new one has no users; does storage.url name the database of the application?", s.Engine.Compat)})
	}
}

// checkSecrets reads from the store which step of a rotation the running replicas are
// at. It returns a function that prints the step.
func (k *checker) checkSecrets(ctx context.Context, st *store) (print func()) {
	r, err := loadRotation(ctx, st.Adapter, k.settings.Engine.Secrets)
	r.jwt = k.settings.Engine.Session.Strategy == authsvc.StrategyJWT
	text := ""
	if err == nil {
		text, err = r.step()
	}
	return func() {
		if text != "" || err != nil {
			k.report("secret", text, err)
		}
	}
}

// checkSigningKeys returns a function that reports signing keys which no secret opens:
// serve does not start with them.
func (k *checker) checkSigningKeys(ctx context.Context, st *store) (print func()) {
	service, err := prepareEngine(k.settings, st.Adapter)
	if err == nil {
		_, err = service.SigningKeys(ctx)
	}
	return func() {
		if errors.Is(err, engine.ErrSealedKeys) {
			k.report("signing keys", "", inCommands(err))
		}
	}
}

// checkSealed counts the records that were sealed by secrets other than the first in
// the list, and returns a function that prints the count. Without --deep, the function
// only says how to count them, if there are several secrets.
func (k *checker) checkSealed(st *store) (print func()) {
	several := len(k.settings.Engine.Secrets) > 1
	if !k.deep {
		return func() {
			if several {
				k.reportWarnings([]string{"secret: `authsvc check --deep` counts the records that secrets other than the first have sealed; run it before you remove one"})
			}
		}
	}
	service, err := prepareEngine(k.settings, st.Adapter)
	var r engine.Resealed
	if err == nil {
		r, err = service.Reseal(k.ctx, true, progressOf(k.stderr))
	}
	return func() {
		text := "all sealed records are sealed by the first secret"
		if r.Left > 0 {
			text = "all sealed records that a configured secret opens are sealed by the first secret"
		}
		switch {
		case r.Stale() > 0:
			text = sealedText(r) + " sealed by later secrets: run `authsvc migrate reseal` before you remove one"
		case several:
			text += "; the other secrets are no longer needed for stored records"
		}
		k.report("records", text, err)
		if r.Left > 0 {
			k.reportWarnings([]string{"records: no configured secret opens " + plural(r.Left, "record", "records")})
		}
	}
}

// reportWarnings prints the warnings that serve would log.
func (k *checker) reportWarnings(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(k.stdout, "note  ", w)
	}
}

// storageStatus describes the schema. current reports whether the schema is that of this
// build: otherwise its records cannot be read yet.
func (k *checker) storageStatus(ctx context.Context, st *store) (text string, current bool, err error) {
	if st.schema == nil {
		return "", true, k.checkAddresses(st)
	}
	status, err := st.schema.Status(ctx)
	if err != nil {
		return "", false, err
	}
	if status.Current < status.Latest {
		text, err = k.olderStatus(status)
		return text, false, errors.Join(err, explainTables(k.settings, st.schema.Usable(ctx)))
	}
	return ", " + schemaText(status), true, errors.Join(st.Ping(ctx), k.checkEngine(ctx, st.Adapter), k.checkAddresses(st))
}

// olderStatus describes a schema that lacks migrations. If storage.migrate is false, a
// service that has run before cannot start with it.
func (k *checker) olderStatus(status tables.Status) (string, error) {
	const again = ", after which check reads the records, too"
	up := "`authsvc migrate up`"
	switch {
	case status.Current == 0 && k.settings.Storage.Migrate:
		return ", nothing has run with it yet; serve or " + up + " sets it up" + again, nil
	case status.Current == 0:
		return ", nothing has run with it yet; " + up + " sets it up" + again, nil
	case !k.settings.Storage.Migrate:
		return "", fmt.Errorf("%s; run %s", schemaText(status), up)
	}
	return ", " + schemaText(status) + "; serve brings it up to date" + again, nil
}

// checkEngine returns the reason why the engine would not start with a store.
func (k *checker) checkEngine(ctx context.Context, a adapter.Adapter) error {
	service, err := prepareEngine(k.settings, a)
	if err == nil {
		err = k.settings.Explain(service.CheckStore(ctx))
	}
	return err
}

// storeIsMissing reports whether opening the store would create it.
func storeIsMissing(s *config.Settings) (bool, error) {
	exists := drivers()[storageScheme(s)].exists
	if exists == nil {
		return false, nil
	}
	found, err := exists(s.Storage.URL)
	return !found, err
}

func schemaText(s tables.Status) string {
	return fmt.Sprintf("schema version %d of %d", s.Current, s.Latest)
}

// usedAtSignIn follows the callback URL of a provider with a client secret: a check cannot
// know whether the provider accepts the secret.
const usedAtSignIn = " (the client id and secret are first used at a sign-in)"

// checkProviders prints every callback URL. Unless offline, it checks mail servers and
// providers that have discovery.
func (k *checker) checkProviders(offline bool) {
	var wrong map[string]error
	if !offline {
		ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
		defer cancel()
		wrong = k.service.CheckProviders(ctx)
	}
	for i, p := range k.settings.Engine.Providers {
		id := config.ProviderID(p)
		callback := "callback URL " + k.service.BaseURL() + "/callback/" + id
		switch p := p.(type) {
		case *authsvc.OAuth:
			if p.LogoutAtProvider {
				callback += ", post-logout redirect URI " + k.service.BaseURL() + "/signout/return"
			}
			if p.Client.Secret != "" {
				callback += usedAtSignIn
			}
			k.report(id, callback, wrong[id])
			if p.DangerousInsecureIssuer {
				k.reportWarnings([]string{id + ": is called by http (allow_insecure_issuer): in its network, anyone on the way can read the client secret and sign in as anyone"})
			}
		case *authsvc.Credentials: // no callback URL to register
			k.report(id, "a hook checks its fields", nil)
		case *authsvc.OAuth1: // no discovery
			k.report(id, callback+usedAtSignIn, nil)
		case *authsvc.OpenID2: // no discovery, and no client
			k.report(id, callback, nil)
		case *authsvc.Email:
			k.checkMail(id, callback, fmt.Sprintf("providers[%d]", i), offline)
		}
	}
}

func (k *checker) checkMail(id, callback, key string, offline bool) {
	for _, m := range k.settings.Mail {
		if m.Key != key {
			continue
		}
		if offline {
			k.report(id, callback, nil)
			return
		}
		ctx, cancel := context.WithTimeout(k.ctx, checkTimeout)
		defer cancel()
		k.report(id, callback+", mail through "+mailHost(m), checkMail(ctx, m))
	}
}

// maxShownUsers is how many user IDs check prints.
const maxShownUsers = 5

// checkAddresses returns an error that names users whom a lookup by their own address
// does not find, because the address is not stored in normal form. It reads all users.
func (k *checker) checkAddresses(st *store) error {
	if st.Adapter == nil {
		return nil
	}
	var ids []string
	n := 0
	err := engine.OddAddresses(k.ctx, st.Adapter, func(odd engine.OddAddress) error {
		if n++; n <= maxShownUsers {
			ids = append(ids, odd.UserID)
		}
		if k.deep {
			k.reportWarnings([]string{"address: " + oddText(odd)})
		}
		return nil
	})
	if err != nil || n == 0 {
		return err
	}
	if n > maxShownUsers {
		ids = append(ids, "…")
	}
	return fmt.Errorf("%s not in the normal form that lookups use, of users %s; run `authsvc migrate normalize --dry-run`",
		plural(n, "address is", "addresses are"), strings.Join(ids, ", "))
}

// oddText says why an address is odd. It omits the address, because the output may end
// up in a log.
func oddText(odd engine.OddAddress) string {
	switch {
	case odd.Normal == "":
		return "user " + odd.UserID + " has one that cannot be used, or whose normal form would be another mailbox"
	case odd.Other != "":
		return "user " + odd.UserID + " and user " + odd.Other + " have the same address"
	}
	return "user " + odd.UserID + " has one that is not in the normal form that lookups use"
}
