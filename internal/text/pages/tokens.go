package pages

import "time"

// Tokens is the page of personal access tokens.
const Tokens Name = "tokens"

// TokensView fills the page of personal access tokens.
type TokensView struct {
	CSRFToken string
	Fresh     string // proof of a fresh sign-in, for the form that makes a token
	Tokens    []TokenRow
	Uses      []TokenUse // possible uses of a new token
	MaxDays   int        // longest lifetime of a token, in days
	Typed     string     // initial value of the name field
	Made      string     // the new token, shown only once
	MadeName  string
	Full      bool // the person has the maximum number of tokens
	Revoked   bool // a token was revoked
	Error     string
	RequestID string
}

// A TokenRow is one personal access token of the person.
type TokenRow struct {
	ID      string
	Name    string
	Uses    []string
	Used    time.Time // day of the last use; zero: never
	Expires time.Time
	Expired bool
	Sealed  bool // the token is no longer accepted
}

// A TokenUse is an audience or a host that a token can be used for.
type TokenUse struct {
	Field, Value string
}

// Life returns the lifetime that the form proposes, in days.
func (v TokensView) Life() int { return min(90, v.MaxDays) }

// tokenTexts returns the texts of the page and of its entry on the account page.
func tokenTexts() map[string]map[string]string {
	return map[string]map[string]string{
		"en": {
			"title.tokens":         "Access tokens",
			"entry.tokens.heading": "Access tokens",
			"entry.tokens.hint":    "For scripts and programs that act for you without a browser.",
			"entry.tokens.open":    "Manage",
			"tokens.lead":          "A token lets a script or program act for you without a browser. Keep it secret, like a password.",
			"tokens.made":          "%s has been created. Copy it now: it will not be shown again.",
			"tokens.value":         "Token",
			"tokens.none":          "You have no access tokens.",
			"tokens.until":         "Expires on %s",
			"tokens.expired":       "Expired",
			"tokens.never":         "Not used yet",
			"tokens.used":          "Last used on %s",
			"tokens.sealed":        "No longer accepted",
			"tokens.revoke":        "Revoke",
			"tokens.revoked":       "The token has been revoked. It is no longer accepted.",
			"tokens.new":           "Create a token",
			"tokens.name":          "What is it for?",
			"tokens.example":       "For example: backup script",
			"tokens.for":           "Where may it be used?",
			"tokens.life":          "Days until it expires",
			"tokens.create":        "Create",
			"tokens.full":          "You have the maximum number of tokens. Revoke one to create another.",
			"tokens.bad":           "This token cannot be created.",
			"tokens.badhelp":       "Give it a name of 1 to 64 characters, choose at least one place where it may be used, and enter an allowed number of days.",
			"tokens.gone":          "There is no such token. It may have been revoked already.",
			"tokens.back":          "Back to your account",
		},
		"de": {
			"title.tokens":         "Zugriffstoken",
			"entry.tokens.heading": "Zugriffstoken",
			"entry.tokens.hint":    "Für Skripte und Programme, die ohne Browser in Ihrem Namen handeln.",
			"entry.tokens.open":    "Verwalten",
			"tokens.lead":          "Mit einem Token kann ein Skript oder Programm ohne Browser in Ihrem Namen handeln. Halten Sie es geheim wie ein Passwort.",
			"tokens.made":          "%s wurde erstellt. Kopieren Sie es jetzt: Es wird nicht noch einmal angezeigt.",
			"tokens.value":         "Token",
			"tokens.none":          "Sie haben keine Zugriffstoken.",
			"tokens.until":         "Läuft ab am %s",
			"tokens.expired":       "Abgelaufen",
			"tokens.never":         "Noch nicht verwendet",
			"tokens.used":          "Zuletzt verwendet am %s",
			"tokens.sealed":        "Nicht mehr gültig",
			"tokens.revoke":        "Widerrufen",
			"tokens.revoked":       "Das Token wurde widerrufen. Es ist nicht mehr gültig.",
			"tokens.new":           "Token erstellen",
			"tokens.name":          "Wofür ist es?",
			"tokens.example":       "Zum Beispiel: Backup-Skript",
			"tokens.for":           "Wo darf es verwendet werden?",
			"tokens.life":          "Gültigkeit in Tagen",
			"tokens.create":        "Erstellen",
			"tokens.full":          "Sie haben die Höchstzahl an Token erreicht. Widerrufen Sie eines, um ein weiteres zu erstellen.",
			"tokens.bad":           "Dieses Token kann nicht erstellt werden.",
			"tokens.badhelp":       "Geben Sie ihm einen Namen mit 1 bis 64 Zeichen, wählen Sie mindestens einen Ort, an dem es verwendet werden darf, und eine zulässige Zahl von Tagen.",
			"tokens.gone":          "Dieses Token gibt es nicht. Vielleicht wurde es schon widerrufen.",
			"tokens.back":          "Zurück zu Ihrem Konto",
		},
	}
}
