package verify

var supplyChecks = checks{}
