package memory_test

import (
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
)

func TestAdapter(t *testing.T) {
	t.Parallel()
	// docs: a store
	adaptertest.Run(t, func(*testing.T) authsvc.Adapter { return memory.New() })
	// docs
}
