package verify

var e2eChecks = checks{}
