package verify

var redirectChecks = checks{
	"08": {title: "the client's address, behind real proxies", once: true, run: redirect08},
}
