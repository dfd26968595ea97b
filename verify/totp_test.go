package verify

const noTotp = "authsvc does not support a second factor"

var totpChecks = checks{
	"01": {title: "Vectors", not: noTotp},
	"02": {title: "Code replay", not: noTotp},
	"03": {title: "Window", not: noTotp},
	"04": {title: "Guessing", not: noTotp},
	"05": {title: "Step skipping", not: noTotp},
	"06": {title: "Seed and recovery codes", not: noTotp},
	"07": {title: "Enrol/disable", not: noTotp},
}
