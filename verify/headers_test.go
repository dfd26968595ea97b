package verify

var headersChecks = checks{}
