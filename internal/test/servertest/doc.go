// Package servertest gives tests the database servers that they need.
//
// Postgres, MySQL, Redis and MongoDB return a fresh, empty database on a server that
// all tests share. They skip the test if there is no server. OwnPostgres, OwnMySQL,
// OwnRedis and OwnFerretDB start a server for one test, which may kill, freeze and
// restart it.
//
// Every URL is a valid storage.url. .ci/servers starts the shared servers.
package servertest
