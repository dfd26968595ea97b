package verify

var abuseChecks = checks{}
