package oidc_test

import (
	"os"
	"testing"

	"authsvc/internal/test/atonce"
)

func TestMain(m *testing.M) { os.Exit(atonce.Run(m)) }
