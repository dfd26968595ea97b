package verify

var logoutChecks = checks{}
