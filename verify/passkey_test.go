package verify

const noPasskey = "authsvc does not support passkeys"

var passkeyChecks = checks{
	"01": {title: "Challenge", not: noPasskey},
	"02": {title: "Origin and rpId", not: noPasskey},
	"03": {title: "type, UP, UV, BE/BS flags", not: noPasskey},
	"04": {title: "Signature and key", not: noPasskey},
	"05": {title: "Credential ownership", not: noPasskey},
	"06": {title: "Counter goes back", not: noPasskey},
	"07": {title: "Enumeration by options", not: noPasskey},
	"08": {title: "Registration CSRF, no step-up", not: noPasskey},
	"09": {title: "Real authenticators", not: noPasskey},
	"10": {title: "Published vectors", not: noPasskey},
}
