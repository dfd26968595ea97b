package proxytest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Text returns a page of the documentation.
func Text(t testing.TB, page string) string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Blocks returns the code blocks of a language in a page of the documentation.
func Blocks(t testing.TB, page, language string) []string {
	t.Helper()
	var blocks []string
	for rest := Text(t, page); ; {
		_, after, found := strings.Cut(rest, "\n```"+language+"\n")
		if !found {
			break
		}
		block, tail, closed := strings.Cut(after, "\n```\n")
		if !closed {
			t.Fatalf("%s has a code block without an end", page)
		}
		blocks, rest = append(blocks, block+"\n"), tail
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no %s", page, language)
	}
	return blocks
}

// configure makes a complete configuration from the documented one.
func configure(program string, port int, dir string, o Options) string {
	replace := append(slices.Clone(o.Replace), "127.0.0.1:3000", o.Backend, "/etc/ssl/", dir+"/")
	both := fmt.Sprintf("127.0.0.1:%d", port)
	switch program {
	case "nginx":
		replace = append(replace, "listen 443 ssl;", fmt.Sprintf("listen %s ssl; listen [::1]:%d ssl;", both, port))
	case "haproxy":
		replace = append(replace, "bind :443", fmt.Sprintf("bind %s,[::1]:%d", both, port))
	case Traefik:
		replace = append(replace, `":443"`, `"`+both+`"`, "/etc/traefik/", dir+"/")
	case "caddy":
		for _, host := range []string{Host, ""} {
			address := host + " {"
			if host == "" {
				address = ":443 {" // for every host name
			}
			replace = append(replace, address, fmt.Sprintf("https://%s:%d {\n\tbind 127.0.0.1 ::1\n\ttls %s %s", host, port,
				filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile)))
		}
	}
	site := strings.NewReplacer(replace...).Replace(o.Site)
	switch program {
	case "nginx":
		return fmt.Sprintf(nginxMain, userLine(), dir) + o.Outer + site + "}\n"
	case "caddy":
		return "{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + o.Outer + site
	}
	return o.Outer + site
}

// splitTraefik writes the dynamic configuration. It returns the static one, which
// names that file.
func splitTraefik(t testing.TB, dir, text string) (file, static string) {
	t.Helper()
	static, dynamic, both := strings.Cut(text, "\n---\n")
	if !both {
		t.Fatal("the configuration of Traefik is one file")
	}
	if err := os.WriteFile(filepath.Join(dir, "dynamic.yaml"), []byte(dynamic), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "traefik.yaml"), static
}

// nginxMain puts the files that Debian's nginx keeps in /var into the test's
// directory.
const nginxMain = `%sdaemon off;
pid %[2]s/pid;
error_log stderr warn;
worker_processes 1;
events { worker_connections 4096; }
http {
access_log off;
client_body_temp_path %[2]s/body;
proxy_temp_path %[2]s/proxy;
fastcgi_temp_path %[2]s/fastcgi;
uwsgi_temp_path %[2]s/uwsgi;
scgi_temp_path %[2]s/scgi;
`

// userLine returns the user line for nginx. If nginx runs as root, its workers would
// otherwise run as a user who cannot enter the test's directory.
func userLine() string {
	if os.Geteuid() == 0 {
		return "user root;\n"
	}
	return ""
}
