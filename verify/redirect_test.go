package verify

var redirectChecks = checks{}
