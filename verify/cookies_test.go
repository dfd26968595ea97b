package verify

var cookiesChecks = checks{}
