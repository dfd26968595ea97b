package devidp_test

import (
	"testing"

	"authsvc"
	"authsvc/devidp"
)

// TestPeopleAreChecked: Start reports every mistake of the people at once, with its
// place. A person with the fewest fields is accepted.
func TestPeopleAreChecked(t *testing.T) {
	t.Parallel()
	start := func(people ...devidp.Person) error {
		c := authsvc.Config{URL: "http://localhost:3000"}
		d, err := devidp.Start(&c, devidp.Options{Addr: "127.0.0.1:0", People: people})
		if err == nil {
			err = d.Close()
		}
		return err
	}
	if err := start(devidp.Person{ID: "ada", Name: "Ada"}); err != nil {
		t.Error("a right person:", err)
	}
	err := start(devidp.Person{Email: "ada"}, devidp.Person{ID: "x", Name: "X", Picture: "x"}, devidp.Person{ID: "x", Name: "Y"})
	const want = `devidp: idp: person 0 of People: the id must have 1 to 255 visible ASCII characters
person 0 of People: enter a name of at most 100 characters
person 0 of People: enter an email address such as name@example.com, or leave it empty
person 1 of People: the picture must be an http or https URL
person 2 of People: another person has the id "x"`
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
}
