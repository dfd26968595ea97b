package main

import "errors"

// runDev runs the service with a store, an identity provider and an inbox of
// its own.
func runDev(*program, *devCommand) error { return errors.New("dev: not built in") }
