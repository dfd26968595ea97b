package verify

var jweChecks = checks{}
