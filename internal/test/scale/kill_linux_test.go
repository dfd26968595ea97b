package scale

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc/internal/sql/stores"
	"authsvc/internal/test/process"
)

const (
	midway   = 8  // kills during the migration, for each store
	lateMost = 50 // kills that may come too late, for each of them
)

// killMidway kills the command that migrates up after parts of the bytes that it writes.
// The next run must finish, and the store must have its earlier contents.
func killMidway(t *testing.T, storage string, m schemaStore, want []string) {
	t.Helper()
	process.Binary(t) // builds it
	bringTo(t, m, stores.Down)
	begun := time.Now()
	whole, late := bytesOfMigration(t, storage, m), 0
	took := time.Since(begun)
	if whole == 0 {
		t.Fatal("the migration has ended before it wrote a byte")
	}
	for i := range midway {
		part := max(1, whole*int64(i+1)/(midway+1))
		for tries := 0; ; tries++ {
			bringTo(t, m, stores.Down)
			migrateUp(t, storage, func(written int64) bool { return written < part })
			if !isUp(t, m) {
				break
			}
			if late++; tries == lateMost {
				t.Fatalf("no kill after %d of %d bytes came before the end", part, whole)
			}
		}
		bringTo(t, m, stores.Up)
		if got := dump(t, storage); !slices.Equal(got, want) {
			t.Errorf("killed after %d of %d bytes:\n%s\n%s", part, whole, want, got)
		}
	}
	t.Logf("authsvc migrate up writes %d bytes in %v; %d kills were before its end, %d after it", whole, took.Round(time.Millisecond), midway, late)
}

// bytesOfMigration runs the command to its end. It returns the most bytes that the
// command had written while the store was not yet up to date.
func bytesOfMigration(t *testing.T, storage string, m schemaStore) (whole int64) {
	t.Helper()
	up := false
	migrateUp(t, storage, func(written int64) bool {
		if up = up || isUp(t, m); !up {
			whole = written
		}
		return true
	})
	return whole
}

func isUp(t *testing.T, m schemaStore) bool {
	t.Helper()
	status, err := m.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status.Current == status.Latest
}

// migrateUp runs authsvc migrate up and kills it once more returns false for the bytes
// that it has written. For SQLite these go to files, for PostgreSQL to its connection.
func migrateUp(t *testing.T, storage string, more func(written int64) bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), process.Binary(t), "-c", configured(t, storage), "migrate", "up")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v: %s", err, said.Bytes())
			}
			return
		default:
		}
		if written, running := writtenBy(cmd.Process.Pid); running && !more(written) {
			if err := cmd.Process.Kill(); err == nil {
				<-ended
				return
			}
		}
	}
}

// writtenBy returns how many bytes a process has written, and whether it runs.
func writtenBy(pid int) (n int64, running bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, false
	}
	_, rest, found := strings.Cut(string(raw), "wchar: ")
	_, err = fmt.Sscan(rest, &n)
	return n, found && err == nil
}
