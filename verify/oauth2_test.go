package verify

var oauth2Checks = checks{}
