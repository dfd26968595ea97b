package verify

var accountChecks = checks{}
