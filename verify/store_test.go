package verify

var storeChecks = checks{}
