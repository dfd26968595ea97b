package verify

var smtpfaultChecks = checks{}
