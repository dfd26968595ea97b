package migratefrom

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"authsvc/internal/text"
)

// A pkg is a package.json.
type pkg struct {
	dir, name string
	needs     map[string]string // dependencies and their ranges
}

// readPackages reads the package.json files, and finds the version of NextAuth.js.
func (r *reader) readPackages() {
	for _, file := range r.named("package.json") {
		var p struct {
			Name                          string
			Dependencies, DevDependencies map[string]string
			PeerDependencies              map[string]string
		}
		if err := json.Unmarshal([]byte(r.text(file)), &p); err != nil {
			r.addAt(Open, "files", file, "is not JSON: dependencies and version are unknown")
			continue
		}
		needs := map[string]string{}
		for _, some := range []map[string]string{p.PeerDependencies, p.DevDependencies, p.Dependencies} {
			for name, version := range some {
				needs[name] = version
			}
		}
		r.pkgs = append(r.pkgs, pkg{path.Dir(file), p.Name, needs})
	}
}

// needed returns the range of a dependency and the package.json that has it: the one
// nearest to the options, since other applications of the folder may need another
// version.
func (r *reader) needed(name string) (version, file string) {
	best := -1
	for _, p := range r.pkgs {
		near := 0
		if p.dir == "." || strings.HasPrefix(r.entry.in.file, p.dir+"/") {
			near = len(p.dir)
		}
		if v, ok := p.needs[name]; ok && near > best {
			best, version, file = near, v, path.Join(p.dir, "package.json")
		}
	}
	return version, file
}

// oneMajor matches ranges that allow one major version.
var oneMajor = text.LazyRegexp(`^(?:npm:[^\s]*@)?[\^~=v]?(\d+)[^\s|]*$`)

// readVersion finds the version: in a lock file, else in package.json, else from the
// package that the options come from.
func (r *reader) readVersion() {
	library, version, file := "next-auth", "", ""
	needed, in := r.needed(library)
	if version, file = r.locked(library, needed); version == "" {
		version, file = needed, in
	}
	if version == "" {
		for _, name := range keysOf(entries) {
			if v, f := r.needed(name); v != "" && strings.HasPrefix(name, "@") {
				library, version, file = name, "5 ("+v+")", f
			}
		}
	}
	switch digits := regexp.MustCompile(`\d+`).FindString(version); {
	case digits == "4", digits == "5":
		r.version = int(digits[0] - '0')
	case strings.Contains(version, "beta"), version == "latest" && r.inV5Style():
		r.version = 5
	case digits != "" && digits < "4" && len(digits) == 1:
		r.addAt(Open, "version", file, "%s %s: authsvc shares cookies and tables with versions 4 and 5 only; update NextAuth.js first", library, version)
		r.version = 4
	default:
		r.version = 4
		if r.inV5Style() {
			r.version = 5
		}
		r.addAt(Open, "version", file, "unknown: no package.json or lock file has next-auth with a number; the proposal takes it for version %d", r.version)
		r.setCompat()
		return
	}
	r.addAt(OK, "version", file, "%s %s", library, version)
	r.setCompat()
}

func (r *reader) setCompat() {
	r.Compat = map[int]string{4: "next-auth-v4", 5: "authjs-v5"}[r.version]
}

// inV5Style reports whether the sources use version 5: const {handlers} = NextAuth(…).
func (r *reader) inV5Style() bool {
	for _, file := range r.names {
		if isSource(file) && mentionsAuth(r.text(file)) && strings.Contains(r.text(file), "handlers") {
			return true
		}
	}
	return false
}

// locked returns the version of a package in a lock file that fits the needed range. If
// the range is not clear, all versions in the file must have the same first number.
func (r *reader) locked(name, needed string) (version, file string) {
	quoted := regexp.QuoteMeta(name)
	forms := map[string]*regexp.Regexp{
		"package-lock.json": regexp.MustCompile(`"node_modules/` + quoted + `":\s*\{\s*"version":\s*"([0-9][^"]*)"`),
		"pnpm-lock.yaml":    regexp.MustCompile(`(?m)^\s+['"]?/?` + quoted + `[@/]([0-9][^:('"\s]*)`),
		"yarn.lock":         regexp.MustCompile(`(?m)^"?` + quoted + `@[^\n]*:\n\s+version:? "?([0-9][^"\s]*)`),
		"bun.lock":          regexp.MustCompile(`\["` + quoted + `@([0-9][^"]*)"`),
	}
	for _, file := range r.named("package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock") {
		all := forms[path.Base(file)].FindAllStringSubmatch(r.text(file), -1)
		major := oneMajor.FindStringSubmatch(needed)
		for _, m := range all {
			if first := all[0][1]; major == nil && first[0] != m[1][0] {
				return "", ""
			}
		}
		for _, m := range all {
			if major == nil || strings.HasPrefix(m[1], major[1]+".") {
				return m[1], file
			}
		}
	}
	return "", ""
}

// readAliases reads the prefixes of imports from tsconfig.json, and adds the usual ones
// and the packages of the folder.
func (r *reader) readAliases() {
	for _, file := range r.named("tsconfig.json", "jsconfig.json") {
		m := &module{file: file, tokens: tokenize(r.text(file)), parsed: map[int]node{}}
		options, _ := m.parse(0).get("compilerOptions")
		base := path.Dir(file)
		if n, ok := options.get("baseUrl"); ok {
			base = path.Join(base, n.text)
		}
		paths, _ := options.get("paths")
		for _, p := range paths.members {
			for _, to := range p.value.items {
				r.aliases = append(r.aliases, alias{strings.TrimSuffix(p.key, "*"), path.Join(base, strings.TrimSuffix(to.text, "*"))})
			}
		}
	}
	for _, prefix := range []string{"~/", "@/", "~~/", "$lib/", ""} {
		for _, dir := range []string{"src", "src/lib", "."} {
			r.aliases = append(r.aliases, alias{prefix, dir})
		}
	}
	for _, p := range r.pkgs {
		if p.name != "" {
			r.aliases = append(r.aliases, alias{p.name, path.Join(p.dir, "src")}, alias{p.name, p.dir})
		}
	}
	slices.SortStableFunc(r.aliases, func(a, b alias) int { return len(b.prefix) - len(a.prefix) })
}
