package verify

var crashChecks = checks{}
