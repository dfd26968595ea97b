package mail

import (
	"fmt"
	"strings"
	"testing"
)

func TestURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url        string
		addr       string
		policy     tlsPolicy
		user, pass string
		dangerous  bool
	}{
		{url: "smtp://mail.example.com", addr: "mail.example.com:587", policy: startTLS},
		{url: "smtp://mail.example.com:25/", addr: "mail.example.com:25", policy: startTLS},
		{url: "SMTP://Mail.Example.Com", addr: "mail.example.com:587", policy: startTLS},
		{url: "smtps://mail.example.com", addr: "mail.example.com:465", policy: implicitTLS},
		{url: "smtps://localhost:4650", addr: "localhost:4650", policy: implicitTLS},
		{url: "smtp://u:p%40ss%2Fw%3A@mail.example.com", addr: "mail.example.com:587", user: "u", pass: "p@ss/w:"},
		{url: "smtp://u%40example.com:p@mail.example.com", addr: "mail.example.com:587", user: "u@example.com", pass: "p"},
		{url: "smtp://localhost:1025", addr: "localhost:1025", policy: opportunistic},
		{url: "smtp://127.0.0.2", addr: "127.0.0.2:587", policy: opportunistic},
		{url: "smtp://[::1]:25", addr: "[::1]:25", policy: opportunistic},
		{url: "smtp://localhost?starttls=off", addr: "localhost:587", policy: noTLS},
		{url: "smtp://localhost.example.com", addr: "localhost.example.com:587", policy: startTLS},
		{url: "smtp://127.0.0.1.example.com", addr: "127.0.0.1.example.com:587", policy: startTLS},
		{url: "smtp://10.0.0.1", addr: "10.0.0.1:587", policy: startTLS},
		{url: "smtp://10.0.0.1", addr: "10.0.0.1:587", policy: startTLS, dangerous: true},
		{url: "smtp://10.0.0.1?starttls=off", addr: "10.0.0.1:587", policy: noTLS, dangerous: true},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			t.Parallel()
			s, err := newServer(tt.url, Options{DangerousNoTLS: tt.dangerous})
			if err != nil {
				t.Fatal(err)
			}
			if s.addr != tt.addr || s.policy != tt.policy || s.user != tt.user || s.pass != tt.pass {
				t.Errorf("got %s, policy %d, user %q, password %q", s.addr, s.policy, s.user, s.pass)
			}
		})
	}
}

func TestURLRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url  string
		want []string // parts of the error
	}{
		{"", []string{"not a URL"}},
		{"mail.example.com:587", []string{"not a URL"}},
		{"smtp:mail.example.com", []string{"not a URL"}},
		{"smtp://", []string{"not a URL"}},
		{"smtp://u:hunter2%zz@mail.example.com", []string{"percent-encoded"}},
		{"smtp://u:hunter2/x@mail.example.com", []string{"percent-encoded"}},
		{"smtp://u:22/hunter2@mail.example.com", []string{"percent-encoded"}},
		{"smtp://u:22?hunter2@mail.example.com", []string{"percent-encoded"}},
		{"smtp://u:22#hunter2@mail.example.com", []string{"percent-encoded"}},
		{"http://mail.example.com", []string{"smtp:// or smtps://"}},
		{"smtp://mail.example.com/path", []string{"not a URL such as"}},
		{"smtp://mail.example.com:0", []string{"port"}},
		{"smtp://mail.example.com:65536", []string{"port"}},
		{"smtp://mail_server", []string{"host"}},
		{"smtp://-x.example", []string{"host"}},
		{"smtp://hunter2@mail.example.com", []string{"both a user and a password"}},
		{"smtp://u:@mail.example.com", []string{"both a user and a password"}},
		{"smtp://:hunter2@mail.example.com", []string{"both a user and a password"}},
		{"smtp://u:hunter2%00x@mail.example.com", []string{"control"}},
		{"smtp://u:hunter2%0D%0AMAIL@mail.example.com", []string{"control"}},
		{"smtp://u:" + strings.Repeat("hunter2", 100) + "@mail.example.com", []string{"too long"}},
		{"smtp://mail.example.com?starttls=off", []string{"insecure_no_tls"}},
		{"smtps://mail.example.com?starttls=off", []string{"no meaning"}},
		{"smtp://mail.example.com?starttls=no", []string{"only option"}},
		{"smtp://mail.example.com?starttls=off&x=1", []string{"only option"}},
		{"ftp://u@mail_x:99999?y#z", []string{"smtp://", "host", "both", "only option", "HELO", "not a URL such as"}},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			t.Parallel()
			helo := ""
			if strings.HasPrefix(tt.url, "ftp") {
				helo = "a name\r\n"
			}
			send, err := SMTP(tt.url, Options{HELO: helo})
			if err == nil || send != nil {
				t.Fatal("accepted")
			}
			for _, format := range []string{"%v", "%+v", "%#v", "%q"} {
				if text := fmt.Sprintf(format, err); strings.Contains(text, "hunter2") {
					t.Errorf("%s shows the password: %s", format, text)
				}
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestSenderHidesPassword(t *testing.T) {
	t.Parallel()
	send := sender(t, "smtp://user:hunter2@mail.example.com", Options{})
	for _, format := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(format, send); strings.Contains(text, "hunter2") {
			t.Errorf("%s shows the password: %s", format, text)
		}
	}
}

func TestHELO(t *testing.T) {
	t.Parallel()
	for helo, ok := range map[string]bool{
		"": true, "app.example.com": true, "[192.0.2.1]": true, "[IPv6:2001:db8::1]": true,
		"a b": false, "x\r\nMAIL": false, "[nope]": false, "bücher.example": false, "[192.0.2.1": false,
	} {
		if _, err := SMTP("smtp://mail.example.com", Options{HELO: helo}); (err == nil) != ok {
			t.Errorf("HELO %q: %v", helo, err)
		}
	}
}
