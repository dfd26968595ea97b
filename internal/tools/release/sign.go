package main

import (
	"context"
	"os/exec"
	"path/filepath"
)

// namespace names the purpose of a signature. A signature by the same key for another
// purpose is therefore not valid here. docs/release.md has the command that verifies one.
const namespace = "authsvc-release"

// sign writes FILE.sig, a signature by a private key of ssh-keygen. ssh-keygen asks for
// its passphrase, or takes the key from the agent if key is a public one.
func sign(ctx context.Context, key, file string) error {
	path, err := filepath.Abs(key)
	if err != nil {
		return err
	}
	_, err = output(exec.CommandContext(ctx, "ssh-keygen", "-Y", "sign", "-f", path, "-n", namespace, filepath.Base(file)), filepath.Dir(file))
	return err
}
