package verify

var httpwireChecks = checks{}
