package verify

var sessionChecks = checks{}
