package verify

var outboundChecks = checks{}
