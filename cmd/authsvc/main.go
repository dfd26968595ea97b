// Command authsvc is the service.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 || os.Args[1] != "dev" {
		fmt.Fprintln(os.Stderr, "usage: authsvc dev")
		os.Exit(2)
	}
	if err := runDev(ctx, ".authsvc", "localhost", 3000, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "authsvc:", err)
		os.Exit(1)
	}
}
