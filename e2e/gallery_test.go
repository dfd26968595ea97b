package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"authsvc/internal/test/chromium"
)

// TestGallery checks every state of every page, in English and German, in light and
// dark. Each must be accessible, and fit narrow screens, large text and right-to-left
// languages. Pages need no scripts, so the rendered HTML is enough.
func TestGallery(t *testing.T) {
	t.Parallel()
	requested(t, "Chromium")
	dir := t.TempDir()
	write := exec.CommandContext(t.Context(), "go", "test", "../internal/text/pages", "-run", "^TestGallery$", "-count=1", "-gallery", dir)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.html"))
	if err != nil {
		t.Fatal(err)
	}
	queue := make(chan string, len(files))
	for _, file := range files {
		if set := filepath.Base(filepath.Dir(file)); set == "plain" || set == "german" {
			queue <- file
		}
	}
	close(queue)
	if len(queue) < 200 {
		t.Errorf("only %d pages", len(queue))
	}
	newTab(t) // fails here if the browser is missing
	var looking sync.WaitGroup
	for range 3 {
		looking.Go(func() {
			b := newTab(t)
			for file := range queue {
				look(t, b, file)
			}
		})
	}
	looking.Wait()
}

// look checks one page of the gallery.
func look(t *testing.T, b *chromium.Tab, file string) {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(filepath.Dir(file))+"-"+filepath.Base(file), ".html")
	dir := screenshots(t)
	b.Size(1100, 860)
	b.Colours("light")
	b.Scripts(false) // two pages navigate by themselves
	b.Open("file://" + file)
	b.Scripts(true) // axe needs scripts; the page's own no longer run
	settle(b)
	accessible(t, b, name)
	b.Colours("dark")
	settle(b)
	accessible(t, b, name+" in dark")
	picture(t, b, dir, name+".dark")
	for _, how := range []struct {
		name, script string
		width        int64
	}{{"360", "", 360}, {"320", "", 320}, {"200", `fontSize`, 1100}, {"320-200", `fontSize`, 320}, {"rtl", `dir`, 390}} {
		b.Size(how.width, 860)
		root := `const r = document.documentElement; r.style.fontSize = ""; r.dir = "ltr"; `
		switch how.script {
		case "fontSize":
			root += `r.style.fontSize = "200%"; `
		case "dir":
			root += `r.dir = "rtl"; `
		}
		b.Do(chromedp.Evaluate[chromedp.Void](`{` + root + `} void 0`))
		settle(b)
		fits(t, b, name+" at "+how.name, float64(how.width))
		picture(t, b, dir, name+"."+how.name)
	}
}
