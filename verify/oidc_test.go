package verify

var oidcChecks = checks{}
