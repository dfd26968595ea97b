package verify

var oauth1Checks = checks{}
