package probe

import (
	"errors"
	"strings"
)

// errCookies says which formats a cookie file may have.
var errCookies = errors.New("is neither a line name=value; name=value nor a file as curl --cookie-jar writes it")

// Cookies reads a cookie file and returns the Cookie header for a host. From a file
// that curl wrote, it takes the cookies of the host; otherwise the file must have one
// line.
func Cookies(file, host string) (string, error) {
	var kept []string
	tables, lines := 0, 0
	for line := range strings.Lines(file) {
		line = strings.TrimRight(line, "\r\n")
		line = strings.TrimPrefix(line, "#HttpOnly_")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 7 { // domain, subdomains, path, secure, expires, name, value
			kept, lines = append(kept, strings.TrimSpace(strings.TrimPrefix(line, "Cookie:"))), lines+1
			continue
		}
		tables++
		domain := strings.ToLower(strings.TrimPrefix(fields[0], "."))
		if host == domain || fields[1] == "TRUE" && strings.HasSuffix(host, "."+domain) {
			kept = append(kept, fields[5]+"="+fields[6])
		}
	}
	header := strings.Join(kept, "; ")
	if lines > 1 || lines > 0 && (tables > 0 || !strings.Contains(header, "=")) || lines+tables == 0 || strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", errCookies
	}
	return header, nil
}
