package verify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/servertest"
)

// A crashDisk is a small separate disk.
type crashDisk struct{ dir string }

func (d crashDisk) path() string  { return filepath.Join(d.dir, "auth.db") }
func (d crashDisk) env() []string { return []string{"AUTHSVC_STORAGE_URL=sqlite:" + d.path()} }

// fill uses up all free space.
func (d crashDisk) fill(t *T) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(d.dir, "ballast"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 1 << 10, 1} {
		for piece := make([]byte, size); err == nil || size > 1; {
			if _, err = f.Write(piece); err != nil {
				break
			}
		}
		if size > 1 {
			err = nil
		}
	}
	if !crashFull(err) {
		t.Fatalf("the disk is not full: %v", err)
	}
}

func (d crashDisk) free(t *T) {
	t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "ballast")); err != nil {
		t.Fatal(err)
	}
}

// crashRefusedCleanly checks that if the store refuses a write, the answer says so
// and does not sign in.
func crashRefusedCleanly(t *T, near *process.Neighbours, url, sub string) {
	t.Helper()
	v := browser.New(url, nil)
	err := v.SignIn(near.OP, sub)
	if err == nil {
		t.Errorf("%s signs in without a write", sub)
		return
	}
	if strings.Contains(err.Error(), ": 500 ") || strings.Contains(err.Error(), "EOF") {
		t.Errorf("not a clean answer: %v", err)
	}
	if got, err := v.Email(); got != "" || err != nil {
		t.Errorf("refused, and is %q, %v", got, err)
	}
}

// crash06 fills the disk that holds the database and the log.
func crash06(t *T) {
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *T) {
			near, d := process.NewNeighbours(t), newCrashDisk(t, 4)
			p := process.Prepare(t, near.YAML("session: {strategy: "+strategy+"}"), d.env()...)
			p.Through = []string{"sh", "-c", `exec "$@" 2>>` + d.dir + `/log`, "sh"}
			p.Start()
			p.Ready(patience)
			ada := browser.New(p.URL, nil)
			if err := ada.SignIn(near.OP, "ada"); err != nil {
				t.Fatal(err)
			}
			d.fill(t)
			// The database's log has some room left that it has used before.
			for range 200 {
				if browser.New(p.URL, nil).SignIn(near.OP, "ada") != nil && strategy == "database" {
					break
				}
			}
			if strategy == "database" {
				crashRefusedCleanly(t, near, p.URL, "ada")
			}
			crashRefusedCleanly(t, near, p.URL, "grace")
			if got, err := ada.Email(); got != "ada@example.com" || err != nil {
				t.Errorf("reads on a full disk: %q, %v", got, err)
			}
			d.free(t)
			grace := browser.New(p.URL, nil)
			if err := grace.SignIn(near.OP, "grace"); err != nil {
				t.Errorf("with room again: %v", err)
			}
			p.Kill()
			crashIntegrity(t, d.path())
			p.Start()
			p.Ready(patience)
			for v, want := range map[*browser.Browser]string{ada: "ada@example.com", grace: "grace@example.com"} {
				if got, err := v.Email(); got != want || err != nil {
					t.Errorf("after a restart: %q, want %q; %v", got, want, err)
				}
			}
		})
	}
}

// crash07 makes servers refuse writes while they still answer reads.
func crash07(t *T) {
	t.Run("postgres", func(t *T) {
		server := servertest.OwnPostgres(t)
		set := func(value string) {
			t.Helper()
			db := storeSQL(t, server.URL)
			for _, s := range []string{`ALTER SYSTEM SET default_transaction_read_only = ` + value, `SELECT pg_reload_conf()`} {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
		}
		crashReadOnly(t, server, func() { set("on") }, func() { set("off") })
	})
	t.Run("redis", func(t *T) {
		server := servertest.OwnRedis(t)
		client := storeRedis(t, server.URL)
		crashReadOnly(t, server, func() { client.ReplicaOf(t.Context(), "127.0.0.1", "1") }, func() { client.ReplicaOf(t.Context(), "NO", "ONE") })
	})
}

func crashReadOnly(t *T, server *servertest.Server, on, off func()) {
	t.Helper()
	near := process.NewNeighbours(t)
	p := process.Serve(t, near.YAML(""), crashEnv(t, server)...)
	ada := browser.New(p.URL, nil)
	if err := ada.SignIn(near.OP, "ada"); err != nil {
		t.Fatal(err)
	}
	on()
	time.Sleep(200 * time.Millisecond) // a signal takes time to reach all of the server
	crashRefusedCleanly(t, near, p.URL, "grace")
	if got, err := ada.Email(); got != "ada@example.com" || err != nil {
		t.Errorf("reads without writes: %q, %v", got, err)
	}
	off()
	time.Sleep(200 * time.Millisecond)
	err := errors.New("not tried")
	for deadline := time.Now().Add(crashDeadline); err != nil && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		err = browser.New(p.URL, nil).SignIn(near.OP, "grace")
	}
	if err != nil {
		t.Errorf("with writes again: %v", err)
	}
}

// crashBrief signs a person in over connections that it closes afterwards.
func crashBrief(near *process.Neighbours, url, sub string) error {
	v := browser.New(url, nil)
	defer v.Client.CloseIdleConnections()
	v.Client.Timeout = 5 * time.Second
	return v.SignIn(near.OP, sub)
}

// crash08 gives the service 64 file descriptors and connects more clients.
func crash08(t *T) {
	clients := t.Scale("clients for 64 descriptors", 0, 150, 1000)
	near := process.NewNeighbours(t)
	dir := t.TempDir()
	p := process.Prepare(t, near.YAML(""), "AUTHSVC_STORAGE_URL=sqlite:"+dir+"/auth.db")
	p.Through = []string{"prlimit", "--nofile=64:64"}
	p.Start()
	p.Ready(patience)
	var mu sync.Mutex
	var in []*browser.Browser
	together(clients, func(int) {
		v := browser.New(p.URL, nil)
		v.Client.Timeout = 10 * time.Second
		if v.SignIn(near.OP, "ada") == nil {
			mu.Lock()
			in = append(in, v)
			mu.Unlock()
		}
		v.Client.CloseIdleConnections()
	})
	if !p.Running() {
		t.Fatal("the service ended")
	}
	recovered := time.Now()
	for crashBrief(near, p.URL, "grace") != nil {
		if time.Since(recovered) > 10*time.Second {
			t.Fatal("it does not recover")
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, v := range in {
		if got, err := v.Email(); got != "ada@example.com" || err != nil {
			t.Errorf("signed in, and is %q, %v", got, err)
		}
		v.Client.CloseIdleConnections()
	}
	p.Kill()
	crashIntegrity(t, dir+"/auth.db")
	t.Figure("%d signed in at once, recovered after %d ms; memory is not limited", len(in), time.Since(recovered).Milliseconds())
}
