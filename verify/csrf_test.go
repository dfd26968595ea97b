package verify

var csrfChecks = checks{}
