package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"authsvc/internal/protocol/weburl"
)

// hostList says which hosts a provider's calls may reach.
type hostList struct {
	exact     map[string]bool // host:port
	subdomain []string        // ".example.com:443"
}

// hostsOf returns the hosts of configured URLs and the further hosts.
func hostsOf(urls, further []string) hostList {
	l := hostList{exact: make(map[string]bool)}
	for _, raw := range urls {
		if u, err := url.Parse(raw); err == nil {
			l.exact[hostPort(u)] = true
		}
	}
	for _, host := range further {
		name, any := strings.CutPrefix(host, "*")
		u := hostURL(name)
		if u == nil {
			continue // CheckHosts refuses it
		}
		if any {
			l.subdomain = append(l.subdomain, hostPort(u))
		} else {
			l.exact[hostPort(u)] = true
		}
	}
	return l
}

// has reports whether u may be called.
func (l hostList) has(u *url.URL) bool {
	host := hostPort(u)
	if l.exact[host] {
		return true
	}
	for _, end := range l.subdomain {
		if name, ok := strings.CutSuffix(host, end); ok && plainLabels(name) {
			return true
		}
	}
	return false
}

// hostURL reads host[:port]. It returns nil for anything else, such as a port that no
// URL can have.
func hostURL(host string) *url.URL {
	u, err := url.Parse("https://" + host)
	if err != nil || u.Host != host || u.Hostname() == "" || strings.ContainsAny(host, "*/?#@% ") {
		return nil
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0 || strconv.FormatUint(n, 10) != u.Port()) {
		return nil
	}
	return u
}

// plainLabels reports whether s consists of labels of a host name, which may stand
// before a suffix.
func plainLabels(s string) bool {
	if s == "" || strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") || strings.Contains(s, "..") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

// CheckHosts checks Config.Hosts: each must be host[:port], or "*." and a domain of at
// least two labels.
func CheckHosts(hosts []string) error {
	for _, host := range hosts {
		name, any := strings.CutPrefix(host, "*")
		u := hostURL(name)
		ok := u != nil && (!any || wildcardOf(u.Hostname()))
		if !ok {
			return fmt.Errorf("name %q, which is neither host[:port] nor *.domain", host)
		}
	}
	return nil
}

func wildcardOf(name string) bool {
	domain, dotted := strings.CutPrefix(strings.ToLower(name), ".")
	return dotted && strings.Contains(domain, ".") && plainLabels(domain) && net.ParseIP(domain) == nil
}

// CheckURL accepts https URLs, and http URLs to this machine, without user information
// and fragment.
func CheckURL(raw string) error { return checkURL(raw, "") }

// CheckURLWith is like CheckURL, and also accepts http to the host and port of plain, as
// in [Config.Plain].
func CheckURLWith(raw, plain string) error { return checkURL(raw, plainHost(plain)) }

// plainHost returns the host and port of an http URL, and "" for anything else.
func plainHost(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Scheme == "http" && u.Hostname() != "" {
		return hostPort(u)
	}
	return ""
}

// CheckURL is like the function, and also accepts http to the host of [Config.Plain].
func (c *Client) CheckURL(raw string) error { return checkURL(raw, c.plain) }

func checkURL(raw, plain string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || len(raw) > 2048:
		return errors.New("not a url")
	case u.User != nil:
		return errors.New("must not have user information")
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return errors.New("must not have a fragment")
	case !secureURL(u, plain):
		return ErrScheme
	}
	return nil
}

// secureURL reports whether u may be called: https, or http to this machine or to plain.
func secureURL(u *url.URL, plain string) bool {
	switch u.Scheme {
	case "https":
		return u.Hostname() != ""
	case "http":
		return weburl.Loopback(u.Hostname()) || plain != "" && hostPort(u) == plain
	}
	return false
}

// hostPort returns the host of u in lower case with its port, explicit or by scheme.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
