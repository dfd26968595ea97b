//go:build !linux

package verify

func newCrashDisk(t *T, _ int) crashDisk {
	t.Helper()
	t.Want("needs Linux, to mount a small disk")
	return crashDisk{}
}

func crashFull(error) bool { return false }
