package redis

import (
	"testing"

	"authsvc/adaptertest"
)

func TestAdapter(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) { adaptertest.Run(t, redisOnly(url)) })
}

func TestBeside(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) { adaptertest.Run(t, besideMemory(url)) })
}
