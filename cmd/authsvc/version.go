package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// interfaceLabel names the HTTP interface that this program speaks.
const interfaceLabel = "v4-unreleased"

type versionCommand struct{}

// Run prints what the build recorded about itself.
func (versionCommand) Run(p *program) error {
	version, commit := "(unknown)", "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(info.Main.Version, "(devel)")
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		commit = cmp.Or(settings["vcs.revision"], "(unknown)")
		if settings["vcs.modified"] == "true" {
			commit += ", modified"
		}
		if at := settings["vcs.time"]; at != "" {
			commit += ", " + at
		}
	}
	_, err := fmt.Fprintf(p.stdout, "authsvc %s\ncommit %s\n%s %s/%s\ninterface %s\n",
		version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, interfaceLabel)
	return err
}
