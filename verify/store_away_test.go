package verify

import (
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	large "authsvc/internal/test/scale"
	"authsvc/internal/test/servertest"
)

// store09 configures two servers. The first accepts no writes and has old records,
// like a replica that lags behind. Sign-ins and sign-outs must still be visible
// immediately.
func store09(t *T) {
	lagging, primary := servertest.OwnPostgres(t), servertest.OwnPostgres(t)
	storeAt(t, []string{"AUTHSVC_STORAGE_URL=" + lagging.URL})
	if _, err := storeSQL(t, lagging.URL).ExecContext(t.Context(), `ALTER SYSTEM SET default_transaction_read_only = on`); err != nil {
		t.Fatal(err)
	}
	lagging.Kill()
	lagging.Start()
	behind, ahead := arena.MustURL(t, lagging.URL), arena.MustURL(t, primary.URL)
	both := url.URL{Scheme: "postgres", User: ahead.User, Host: behind.Host + "," + ahead.Host, Path: ahead.Path, RawQuery: ahead.RawQuery}
	near := process.NewNeighbours(t)
	p := process.Serve(t, near.YAML(""), "AUTHSVC_STORAGE_URL="+both.String())
	for range 10 {
		v := browser.New(p.URL, nil)
		if err := v.SignIn(near.OP, "ada"); err != nil {
			t.Fatal(err)
		}
		if got, err := v.Email(); got != "ada@example.com" || err != nil {
			t.Errorf("after sign-in: %q, %v", got, err)
		}
		if err := v.SignOut(); err != nil {
			t.Error(err)
		}
		if got, err := v.Email(); got != "" || err != nil {
			t.Errorf("after sign-out: %q, %v", got, err)
		}
	}
	var n int
	if err := storeSQL(t, lagging.URL).QueryRow(`SELECT COUNT(*) FROM "User"`).Scan(&n); err != nil || n != 0 {
		t.Errorf("the lagging server has %d users, %v", n, err)
	}
}

// store11 measures the operations of every request in a store with many sessions. The
// tests of internal/test/scale, which know the statements, check that plans use
// indexes.
func store11(t *T) {
	users := t.Scale("users with 5 sessions each", 1000, 40_000, 2_000_000)
	t.Stores(func(t *T, kind stores.Kind) {
		if kind.Name != "sqlite" && kind.Name != "postgres" {
			return // cannot be filled fast
		}
		storage, _ := storeURL(kind.Env(t, t.TempDir()))
		people := large.Population{Seed: 1, Users: users, Accounts: 2, Sessions: 5, Ended: users / 10, Now: time.Now()}
		if err := large.Fill(t.Context(), storage, people, func(string) {}); err != nil {
			t.Fatal(err)
		}
		w := t.Enter(func(c *authsvc.Config) { c.Adapter = storeAt(t, []string{"AUTHSVC_STORAGE_URL=" + storage}) })
		b := w.Browser()
		var took []time.Duration
		for i := range 2000 {
			b.Cookies[w.SessionCookie()] = people.Cookie(i * 7919 % (users * 5))
			begun := time.Now()
			email := b.Email()
			if took = append(took, time.Since(begun)); email == "" {
				t.Fatalf("session %d belongs to no user", i)
			}
		}
		slices.Sort(took)
		p99 := took[len(took)*99/100]
		t.Figure("%s p99 %.1f ms", kind.Name, p99.Seconds()*1000)
		if measures() && p99 > 10*time.Millisecond && !raceBuild() {
			t.Errorf("%s: p99 is %v", kind.Name, p99)
		}
	})
}

// storeImpostor listens with an untrusted certificate. A service that requires a
// verified connection must send it nothing, above all no password.
func storeImpostor(t *T, near *process.Neighbours) {
	certificate, err := tls.X509KeyPair(storeCertificate(t))
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 100)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				server := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}})
				said, _ := io.ReadAll(server)
				heard <- string(said)
			}()
		}
	}()
	out := crashRefusal(t, process.Prepare(t, near.YAML(""), "AUTHSVC_STORAGE_URL=rediss://u:canary-pw@"+l.Addr().String()+"/0"))
	if !strings.Contains(out, "certificate") || strings.Contains(out, "canary-pw") {
		t.Errorf("the service says %s", out)
	}
	for len(heard) > 0 {
		if said := <-heard; said != "" {
			t.Errorf("the impostor heard %q", said)
		}
	}
}
