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
	got := fmt.Sprint(storeys(imports(`m m m/internal/text fmt
m m/internal/text strings
m m/internal/text/pages m/internal/text
m m/engine m m/engine/internal/fleet
m m/engine/internal/fleet m
m m/internal/test/arena m/engine
m m/cmd/authsvc m/cmd/authsvc/internal/config m/engine m/adapter/sqlite
m m/adapter
m m m/adapter
m m/adapter/sqlite m m/adapter`)))
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
