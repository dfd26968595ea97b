package verify

var idpfaultChecks = checks{}
