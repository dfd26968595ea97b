package migratefrom

import "testing"

// TestWithoutForeignParameters: the parameters of drivers of JavaScript disappear, and
// everything else remains, also what cannot be parsed.
func TestWithoutForeignParameters(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"postgresql://u:p%40@db:5432/shop?schema=public&connection_limit=5&sslmode=require": "postgresql://u:p%40@db:5432/shop?search_path=public&sslmode=require",
		"postgres://u:p@db/shop?pgbouncer=true":                                             "postgres://u:p@db/shop",
		"postgres://u:p@db/shop":                                                            "postgres://u:p@db/shop",
		"mysql://u:p@db/shop?schema=x&sslaccept=strict&tls=true":                            "mysql://u:p@db/shop?tls=true",
		"sqlite:app.db?schema=x":                                                            "sqlite:app.db?schema=x",
		"postgres://u:%zz@db/shop?schema=a%2Cb":                                             "postgres://u:%zz@db/shop?search_path=a%2Cb",
		"":                                                                                  "",
	} {
		if have := WithoutForeignParameters(raw); have != want {
			t.Errorf("%s became %s, not %s", raw, have, want)
		}
	}
}
