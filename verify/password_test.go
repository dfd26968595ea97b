package verify

const noPassword = "authsvc stores no passwords: the application implements Credentials.Authorize"

var passwordChecks = checks{
	"01": {title: "Storage", not: noPassword},
	"02": {title: "Length and content", not: noPassword},
	"03": {title: "Common/breached", not: noPassword},
	"04": {title: "Guessing, stuffing, spraying", not: noPassword},
	"05": {title: "Enumeration", not: noPassword},
	"06": {title: "Reset", not: noPassword},
	"07": {title: "Hash flood", not: noPassword},
	"08": {title: "Change without proof", not: noPassword},
}
