package verify

var cookiesChecks = checks{
	"11": {title: "the largest session through real proxies", once: true, run: cookies11},
}
