package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"strings"

	"authsvc/internal/tools/target"
)

// goRoot returns the root of the toolchain that go runs here.
func goRoot() (string, error) {
	raw, err := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(raw)), err
}

// same compares the modules recorded in the binary with the modules of this tree for
// the binary's target. It returns an error if the binary was built from another tree.
func same(ctx context.Context, out io.Writer, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	var t target.Target
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			t.OS = s.Value
		case "GOARCH":
			t.Arch = s.Value
		}
	}
	modules, err := linked(ctx, t)
	if err != nil {
		return err
	}
	if err := compare(info, modules); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s consists of the %d modules of this tree\n", binary, len(modules))
	return nil
}

func compare(info *debug.BuildInfo, modules []module) error {
	versions := map[string]string{}
	for _, m := range modules {
		versions[m.path] = m.version
	}
	for _, d := range info.Deps {
		if version, ok := versions[d.Path]; !ok || version != d.Version || d.Replace != nil {
			return fmt.Errorf("the binary contains %s %s, which is not in this tree", d.Path, d.Version)
		}
	}
	if len(info.Deps) != len(modules) {
		return errors.New("the binary lacks modules that this tree has")
	}
	return nil
}
