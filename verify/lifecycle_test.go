package verify

var lifecycleChecks = checks{}
