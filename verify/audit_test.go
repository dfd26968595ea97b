package verify

var auditChecks = checks{}
