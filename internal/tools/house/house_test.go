package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestStoreys checks that a group stands above all groups that it uses, even if two
// use each other.
func TestStoreys(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(storeys(imports(`authsvc authsvc/internal/text fmt
authsvc/internal/text strings
authsvc/internal/text/pages authsvc/internal/text
authsvc/engine authsvc authsvc/engine/internal/fleet
authsvc/engine/internal/fleet authsvc
authsvc/internal/test/arena authsvc/engine
authsvc/cmd/authsvc authsvc/cmd/authsvc/internal/config authsvc/engine authsvc/adapter/sqlite
authsvc/adapter/sqlite authsvc`)))
	if want := "[[internal/text] [the words] [adapter/* fleet] [engine] [cmd/authsvc]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if ring := fmt.Sprint(storeys(map[string]map[string]bool{"a": {"b": true}, "b": {"a": true}})); !strings.Contains(ring, "a") || !strings.Contains(ring, "b") {
		t.Error(ring)
	}
}

// TestPicture checks that the drawing matches this tree and its rooms.
func TestPicture(t *testing.T) {
	t.Chdir("../../..")
	if err := run(t.Context(), true); err != nil {
		t.Error(err)
	}
	raw, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">the words<", ">engine<", ">site<", ">gate<", ">personal<", ">fleet<"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is not drawn", want)
		}
	}
}
