// Package chromium drives a real Chromium in tests. A tab records errors in its
// pages, and fails its test if a step does not succeed.
package chromium

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Names lists the names of the program, the preferred one first.
var Names = []string{"chromium", "chromium-browser", "google-chrome"}

// ErrMissing means that no Chromium is installed.
var ErrMissing = errors.New("chromium is not in the PATH")

// A Browser is one browser process.
type Browser struct {
	ctx  context.Context
	stop func()
}

// Options change how the browser runs. The zero value is headless and verifies
// certificates.
type Options struct {
	// TrustKeys lists base64 SHA-256 digests of public keys. Certificates with these
	// keys are accepted from any issuer.
	TrustKeys string

	// Preferences holds the preferences of the profile, as JSON. Empty: the usual
	// ones.
	Preferences string
}

// Start runs the browser, headless, with a temporary profile. It returns ErrMissing
// if no browser is installed.
func Start(o Options) (*Browser, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "authsvc-chromium-")
	if err != nil {
		return nil, err
	}
	if err := prefer(profile, o.Preferences); err != nil {
		os.RemoveAll(profile)
		return nil, err
	}
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), flags(path, profile, o)...)
	ctx, cancel := chromedp.NewContext(alloc)
	b := &Browser{ctx: ctx, stop: func() {
		cancel()
		cancelAlloc()
		os.RemoveAll(profile)
	}}
	if err := chromedp.Do(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// prefer writes preferences where the browser reads them at its start.
func prefer(profile, preferences string) error {
	if preferences == "" {
		return nil
	}
	dir := filepath.Join(profile, "Default")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "Preferences"), []byte(preferences), 0o600)
}

func program() (string, error) {
	for _, name := range Names {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	return "", ErrMissing
}

func flags(path, profile string, o Options) []chromedp.ExecAllocatorOption {
	list := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile),
		chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-features", "AutofillServerCommunication,OptimizationHints,MediaRouter,Translate"),
		chromedp.Flag("disable-renderer-backgrounding", true), chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("lang", "en-US"),
	}
	if o.TrustKeys != "" {
		list = append(list, chromedp.Flag("ignore-certificate-errors-spki-list", o.TrustKeys))
	}
	return list
}

// Close ends the process and removes its profile.
func (b *Browser) Close() { b.stop() }

// Tab opens a tab with a profile of its own, without cookies or history. It closes
// with t.
func (b *Browser) Tab(t testing.TB) *Tab {
	t.Helper()
	return openTab(t, b.ctx, chromedp.WithNewBrowserContext())
}

// TabBehind works like Tab, but uses a proxy, "host:port", for all addresses except
// loopback.
func (b *Browser) TabBehind(t testing.TB, proxy string) *Tab {
	t.Helper()
	return openTab(t, b.ctx, chromedp.WithNewBrowserContext(
		func(p *target.CreateBrowserContextParams) { p.ProxyServer = "http://" + proxy }))
}
