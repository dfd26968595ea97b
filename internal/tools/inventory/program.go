package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"strings"
)

// goRoot returns the root of the toolchain that go runs here.
func goRoot() (string, error) {
	raw, err := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(raw)), err
}

// same compares the modules recorded in the binary with the modules of this tree. It
// returns an error if the binary was built from another tree.
func same(out io.Writer, modules []module, binary string) error {
	info, err := buildinfo.ReadFile(binary)
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
