package provider

import (
	"cmp"
	"slices"
	"strings"

	"authsvc/internal/text"
)

// Nearest returns at most three ids of the table that resemble id, best match first. It
// returns none if nothing matches.
func Nearest(id string) []string {
	if id == "" || len(id) > 60 {
		return nil
	}
	type candidate struct {
		id       string
		distance int
	}
	var found []candidate
	for _, e := range All() {
		least := len(id) + len(e.ID)
		for _, name := range append([]string{e.ID, e.Name}, e.Aliases...) {
			least = min(least, distance(strings.ToLower(id), strings.ToLower(name)))
		}
		if least <= len(id)/3+1 {
			found = append(found, candidate{e.ID, least})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var ids []string
	for _, c := range found[:min(3, len(found))] {
		ids = append(ids, c.id)
	}
	return ids
}

// distance returns the Levenshtein distance, but counts a prefix of the other word as
// one letter away.
func distance(a, b string) int {
	if len(a) >= 3 && strings.HasPrefix(b, a) || len(b) >= 3 && strings.HasPrefix(a, b) {
		return min(1, len(a)+len(b)-2*min(len(a), len(b)))
	}
	return text.Distance(a, b)
}
