package verify

import (
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"authsvc"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/servertest"
)

// store06 checks that the service refuses to start on a Redis that may evict users. A
// Redis that refuses writes instead may become full, but loses no user.
func store06(t *T) {
	near := process.NewNeighbours(t)
	for _, policy := range []string{"allkeys-lru", "volatile-lru", "volatile-ttl", "allkeys-random"} {
		server := servertest.OwnRedis(t, "--maxmemory", "4mb", "--maxmemory-policy", policy)
		out := crashRefusal(t, process.Prepare(t, near.YAML(""), "AUTHSVC_STORAGE_URL="+server.URL))
		if !strings.Contains(out, policy) || !strings.Contains(out, "noeviction") {
			t.Errorf("%s: %s", policy, out)
		}
		server.Kill()
	}
	server := servertest.OwnRedis(t, "--maxmemory", "4mb", "--maxmemory-policy", "noeviction")
	p := process.Serve(t, near.YAML(""), "AUTHSVC_STORAGE_URL="+server.URL)
	v := browser.New(p.URL, nil)
	if err := v.SignIn(near.OP, "ada"); err != nil {
		t.Fatal(err)
	}
	client := storeRedis(t, server.URL)
	n := 0
	for _, size := range []int{10_000, 100, 1} { // until nothing more fits
		for ; client.Set(t.Context(), fmt.Sprintf("ballast-%d", n), strings.Repeat("x", size), 0).Err() == nil; n++ {
			if n > 50_000 {
				t.Fatal("it never fills up")
			}
		}
	}
	if err := browser.New(p.URL, nil).SignIn(near.OP, "grace"); err == nil {
		t.Error("a person signs up in a full Redis")
	}
	if got, err := v.Email(); got != "ada@example.com" || err != nil {
		t.Errorf("reads in a full Redis: %q, %v", got, err)
	}
	for i := range n {
		client.Del(t.Context(), fmt.Sprintf("ballast-%d", i))
	}
	if err := browser.New(p.URL, nil).SignIn(near.OP, "grace"); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func storeRedis(t *T, url string) *goredis.Client {
	t.Helper()
	o, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// storeMortal lists the kinds of Redis keys that expire.
var storeMortal = map[string]bool{"session": true, "session-id": true, "session-digest": true, "sessions": true, "link": true, "links": true,
	"mail": true, "once": true, "revocation": true, "permit": true, "lease": true}

// store07 checks every key. Keys of expiring records must have a time to live that
// ends after the record, with a day for differing clocks. Users must have none.
func store07(t *T) {
	server := servertest.OwnRedis(t)
	env := []string{"AUTHSVC_STORAGE_URL=" + server.URL}
	w := t.Enter(func(c *authsvc.Config) { c.Adapter, c.Session.UpdateAge = storeAt(t, env), -1 })
	client := storeRedis(t, server.URL)
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	b.Post("/api/auth/signin/email", "email", "ada@app.test")
	storeLives(t, client)
	time.Sleep(20 * time.Millisecond)
	if b.Email() == "" { // a renewal
		t.Fatal("twin: not signed in")
	}
	storeLives(t, client)
	b.Post("/api/auth/signout")
	storeLives(t, client)

	s := w.Config.Adapter
	at := time.Now().Add(-2 * time.Hour) // expired by a fast Redis clock
	if err := s.UseOnce(t.Context(), "late", at); err != nil {
		t.Fatal(err)
	}
	if err := s.UseOnce(t.Context(), "late", at); err == nil {
		t.Error("a mark was gone before a day had passed")
	}
}

func storeLives(t *T, client *goredis.Client) {
	t.Helper()
	names, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	mortal := 0
	for _, name := range names {
		parts := strings.SplitN(name, ":", 3)
		ttl, err := client.PTTL(t.Context(), name).Result()
		if err != nil {
			t.Fatal(err)
		}
		const gone = -2 // meanwhile, like a sent mail
		switch kind := parts[1]; {
		case ttl == gone:
		case !storeMortal[kind] && ttl >= 0:
			t.Errorf("%s expires in %v", name, ttl)
		case storeMortal[kind] && ttl < 0:
			t.Errorf("%s never expires", name)
		case storeMortal[kind] && (ttl < 24*time.Hour || strings.HasPrefix(kind, "session") && ttl < 30*24*time.Hour || ttl > 62*24*time.Hour):
			t.Errorf("%s expires in %v", name, ttl)
		case storeMortal[kind]:
			mortal++
		}
	}
	if mortal == 0 {
		t.Error("no key expires")
	}
}
