package verify

var emailChecks = checks{}
