package main

import (
	"fmt"

	"authsvc/internal/seal"
)

type secretCommand struct{}

// Run prints 256 random bits as 43 characters of base64url.
func (secretCommand) Run(p *program) error {
	_, err := fmt.Fprintln(p.stdout, seal.Token())
	return err
}
