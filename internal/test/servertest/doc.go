// Package servertest gives tests the database servers that they need.
//
// Postgres, MySQL, Redis and MongoDB hand out a fresh, empty database on a
// server that is shared by all tests, and skip the test where there is none.
// OwnPostgres, OwnMySQL, OwnRedis and OwnFerretDB start a server for one test,
// which may kill, freeze and restart it.
//
// Every URL is one that storage.url takes. .ci/servers starts the shared
// servers.
package servertest
