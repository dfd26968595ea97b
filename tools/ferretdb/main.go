// Command ferretdb serves the MongoDB protocol from SQLite files. Tests of the
// MongoDB store use it if there is no MongoDB. It is a separate module so that
// authsvc never depends on it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:27017", "TCP `address` to listen on")
	dir := flag.String("dir", "", "`directory` that keeps the databases; created if missing")
	asked := flag.String("ping", "", "check whether the server at this `address` answers, and exit")
	flag.Parse()
	err := error(nil)
	if *asked != "" {
		err = ping(*asked)
	} else {
		err = run(*listen, *dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ferretdb:", err)
		os.Exit(1)
	}
}

// patience limits the answer to a ping.
const patience = 10 * time.Second

// ping sends the command ping as an OP_MSG and reads the header of the answer.
// https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
func ping(address string) error {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	const (
		document = "\x1e\x00\x00\x00" + "\x10ping\x00\x01\x00\x00\x00" + "\x02$db\x00\x06\x00\x00\x00admin\x00" + "\x00"
		head     = "\x33\x00\x00\x00" + "\x01\x00\x00\x00" + "\x00\x00\x00\x00" + "\xdd\x07\x00\x00"
	)
	if _, err := io.WriteString(conn, head+"\x00\x00\x00\x00\x00"+document); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 16))
	return err
}

// run serves until SIGINT or SIGTERM.
func run(listen, dir string) error {
	if dir == "" {
		return fmt.Errorf("-dir is missing")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{TCP: listen},
		// At level warning, it would print every answer that is an error.
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		SQLiteURL: "file:" + dir + "/",
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return f.Run(ctx)
}
