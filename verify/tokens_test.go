package verify

var tokensChecks = checks{}
