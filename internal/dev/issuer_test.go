package dev_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/freeport"
)

// TestOtherPorts: in the same folder, dev starts at other ports and with --url, where
// its identity provider has another issuer. A person is still the same user.
func TestOtherPorts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := ""
	for _, front := range []bool{false, false, true, false} {
		port, err := freeport.Pick(3)
		if err != nil {
			t.Fatal(err)
		}
		o := dev.Options{Dir: dir, Port: port}
		if front {
			o.URL = fmt.Sprintf("http://localhost:%d", port+1)
		}
		out, stop := runWith(t, o)
		v := visit(t, port)
		if front { // no server is at --url: the service must start
			if !strings.Contains(out.String(), fmt.Sprintf("http://127.0.0.1:%d ", port+2)) {
				t.Errorf("the identity provider is elsewhere: %s", out)
			}
			stop()
			continue
		}
		v.choose(v.post("/api/auth/signin/dev", "callbackUrl", "/"), "Ada Lovelace")
		if got := v.userID(); id != "" && got != id {
			t.Errorf("at another port, Ada is the user %s, before %s", got, id)
		} else {
			id = got
		}
		stop()
	}
}

// TestAcceptIssuer: of the providers at dev's identity provider, those that had another
// port are accepted. Issuers that are not of dev stay as they are in the store, and so do
// providers that are elsewhere now.
func TestAcceptIssuer(t *testing.T) {
	t.Parallel()
	const before, now = "http://127.0.0.1:3001", "http://127.0.0.1:3011"
	for name, c := range map[string]struct {
		stored, configured string
		moves              bool
	}{
		"another port":         {before, now, true},
		"the same port":        {now, now, false},
		"of a shared dev":      {"https://x-3000.app.example/dev-id", now, true},
		"of a deployment":      {"https://id.example", now, false},
		"of another program":   {"http://127.0.0.1:8080/realms/a", now, false},
		"of another machine":   {"https://192.0.2.1:3001", now, false},
		"now at a real server": {before, "https://id.example", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := func(a, b string) authsvc.Config {
				c := authsvc.Config{URL: "http://localhost:3000", Secrets: []string{arena.Secret}, Adapter: memory.New(), Logger: slog.New(slog.DiscardHandler)}
				for id, issuer := range map[string]string{"dev": a, "github": b} {
					c.Providers = append(c.Providers, &authsvc.OAuth{ID: id, OpenID: true, Issuer: issuer, Client: authsvc.Client{ID: "a", Secret: "b"}})
				}
				return c
			}
			earlier, later := config(before, c.stored), config(now, c.configured)
			later.Adapter = earlier.Adapter
			for _, id := range []string{"dev", "github"} {
				if _, err := operator(t, earlier).AcceptIssuer(t.Context(), id, false); err != nil {
					t.Fatal(err)
				}
			}
			fits := c.moves || c.stored == c.configured
			checks := func(want bool) {
				t.Helper()
				if err := operator(t, later).CheckStore(t.Context()); (err == nil) != want {
					t.Errorf("fits the store: %v, want %t", err, want)
				}
			}
			checks(false) // dev itself has moved
			stored := func(want string) {
				t.Helper()
				if got, err := operator(t, later).StoredIssuer(t.Context(), "github"); got != want || err != nil {
					t.Errorf("stored %s, %v, want %s", got, err, want)
				}
			}
			only := config(now, c.configured)
			only.Adapter = earlier.Adapter
			if err := dev.UseStoredIssuer(t.Context(), only, now); err != nil {
				t.Error(err)
			}
			if err := operator(t, only).CheckStore(t.Context()); (err == nil) != fits {
				t.Errorf("a command fits the store: %v, want %t", err, fits)
			}
			stored(c.stored)
			if err := dev.AcceptIssuer(t.Context(), later, now); err != nil {
				t.Error(err)
			}
			checks(fits)
			if fits {
				stored(c.configured)
			} else {
				stored(c.stored)
			}
		})
	}
}

// TestMovedPictures: when dev accepts another issuer, it changes the pictures that the
// earlier one served, of any number of users, and no others.
func TestMovedPictures(t *testing.T) {
	t.Parallel()
	const before, now = "http://127.0.0.1:3001", "http://127.0.0.1:3011"
	store := memory.New()
	config := func(issuer string) authsvc.Config {
		return authsvc.Config{URL: "http://localhost:3000", Secrets: []string{arena.Secret}, Adapter: store, Logger: slog.New(slog.DiscardHandler),
			Providers: []authsvc.Provider{&authsvc.OAuth{ID: "dev", OpenID: true, Issuer: issuer, Client: authsvc.Client{ID: "a", Secret: "b"}}}}
	}
	if _, err := operator(t, config(before)).AcceptIssuer(t.Context(), "dev", false); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	add := func(image, moved string) {
		u, err := store.CreateUser(t.Context(), authsvc.User{ID: fmt.Sprintf("user-%04d", len(want)), Image: image}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want[u.ID] = moved
	}
	for _, other := range []string{"", "https://cdn.example/avatar/ada.svg", "http://127.0.0.1:30011/avatar/ada.svg", before + "/elsewhere/ada.svg"} {
		add(other, other)
	}
	for range 501 {
		add(before+"/avatar/ada.svg", now+"/avatar/ada.svg")
	}
	for range 2 {
		if err := dev.AcceptIssuer(t.Context(), config(now), now); err != nil {
			t.Fatal(err)
		}
	}
	for id, image := range want {
		if u, err := store.GetUser(t.Context(), id); err != nil || u.Image != image {
			t.Fatalf("%s has the picture %q, %v; want %q", id, u.Image, err, image)
		}
	}
}

func operator(t *testing.T, c authsvc.Config) *engine.Operator {
	t.Helper()
	o, err := engine.NewOperator(c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestFolderInUse: a second dev in the same folder is refused, whatever its port, and
// changes nothing there. In another folder it starts, and in the same one after the
// first has ended.
func TestFolderInUse(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePorts(t)
	_, stop := run(t, dir, port)
	urls, err := os.ReadFile(filepath.Join(dir, dev.StoreName+".urls"))
	if err != nil {
		t.Fatal(err)
	}
	second := dev.Options{Dir: dir, Host: "localhost", Port: freePorts(t), Out: io.Discard, Log: slog.New(slog.DiscardHandler)}
	want := fmt.Sprintf("%s is in use by the authsvc dev at http://localhost:%d; ", dir, port)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 2 {
		if err := dev.Run(ctx, second); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "--dir") {
			t.Errorf("a second dev: %v, want %s", err, want)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, dev.StoreName+".urls")); err != nil || string(after) != string(urls) {
		t.Errorf("the URLs are now %q, %v", after, err)
	}
	_, stopElsewhere := run(t, t.TempDir(), freePorts(t))
	stopElsewhere()
	stop()
	_, stop = run(t, dir, second.Port)
	stop()
}

// TestLockAfterCrash: the file that a dev left behind locks nothing.
func TestLockAfterCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lock"), []byte("http://localhost:65000/a/longer/address\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := dev.LockDir(dir, "http://localhost:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dev.LockDir(dir, "http://localhost:2"); err == nil || !strings.Contains(err.Error(), " at http://localhost:1; ") {
		t.Errorf("while it is locked: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	if lock, err = dev.LockDir(dir, "http://localhost:2"); err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	if _, err := dev.LockDir(filepath.Join(dir, "missing"), "http://localhost:3"); err == nil || strings.Contains(err.Error(), "in use") {
		t.Errorf("without a folder: %v", err)
	}
}
