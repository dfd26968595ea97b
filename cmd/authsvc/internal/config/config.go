// Package config loads the settings of the program from authsvc.yaml, the environment
// and flags. It reports all mistakes at once, each with its place, the problem and the
// fix. It never quotes a secret.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/weburl"
)

// DefaultPath is the file that is read if none is named and it exists.
const DefaultPath = "authsvc.yaml"

// otherPath is the other usual spelling of DefaultPath. It is not read.
const otherPath = "authsvc.yml"

// maxFile is the maximum size of a configuration file, in bytes.
const maxFile = 1 << 20

// Settings holds the complete configuration of the program. It prints without its
// contents, so that no log line or panic reveals a secret.
type Settings struct {
	// Engine lacks the fields that are not data: Adapter, Logger, Email.Send.
	Engine authsvc.Config
	Listen string // host:port, default 127.0.0.1:3000
	// StopDelay is how long the service continues while not ready, after a signal to
	// stop: 0 to 1 minute, default 1 s.
	StopDelay time.Duration
	Debug     string // host:port of this machine for profiles; empty: none
	Admin     Admin
	Storage   Storage
	Rules     Rules
	Hooks     []Hook
	// Credentials holds the providers of that type. Their Authorize is not set.
	Credentials []Credentials
	Mail        []Mail // one per email provider
	// MailTemplates is a folder with the texts of mails. Empty means the built-in
	// texts.
	MailTemplates string
	Log           Log
	// Gaps holds the parts that are left out with Input.Development.
	Gaps []Gap
	// Warnings do not prevent the start.
	Warnings []string
	// Replaced holds those Warnings that matter to every command: a variable replaces the
	// secret or the url of the file.
	Replaced []string

	sources
	holdsSecret bool // the file contains a secret instead of ${NAME}
}

// Admin configures the address that serves metrics.
type Admin struct {
	Listen      string // host:port, or unix:/path; empty: nowhere
	AllowRemote bool   // other machines may reach Listen
}

// Storage configures where records are kept.
type Storage struct {
	URL string // may contain a password; default sqlite:authsvc.db
	// Sessions is a Redis that keeps sessions, link tokens and rate limits instead of
	// URL. It may contain a password. If empty, URL keeps them too.
	Sessions string
	Prefix   string // prefix of all keys in a Redis; default authsvc
	Migrate  bool   // bring the schema up to date at the start, default true
	Naming   Naming
	// PlainTokens means that session tokens are stored as they are, as in the compat
	// modes. The code that opens the store sets it.
	PlainTokens bool
	// NewTables means that shared tables may be created although another program has
	// tables that look like them. A command sets it.
	NewTables bool
}

// Naming names shared tables and columns; see the SQL stores.
type Naming struct {
	Preset          string
	Tables, Columns map[string]string
	UserColumns     []string
}

// Mail configures how an email provider sends links.
type Mail struct {
	Provider      *authsvc.Email // in Engine.Providers
	Key           string         // of the provider, such as providers[2]
	Server        string         // smtp:// or smtps:// URL; may contain a password
	HELO          string
	InsecureNoTLS bool
}

// A Hook is an endpoint of an application that is asked over HTTP.
type Hook struct {
	On      string // sign_in, claims or create_user; empty for credentials
	URL     string
	Secrets []string
	Timeout time.Duration // 0: the default
}

// HookKey returns the key of a hook.
func HookKey(i int) string { return fmt.Sprintf("hooks[%d]", i) }

// Credentials describes a provider whose fields a hook checks.
type Credentials struct {
	Provider *authsvc.Credentials // in Engine.Providers
	Key      string               // of the provider, such as providers[2]
	Hook     Hook
}

// Log configures the log on standard error.
type Log struct {
	Format string // text (default) or json
	Level  string // debug, info (default), warn or error
}

// Format implements [fmt.Formatter] for all verbs.
func (s Settings) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// String says where the settings come from, but not their contents.
func (s Settings) String() string { return "settings of " + s.fileName() }

// LogValue implements [slog.LogValuer].
func (s Settings) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText implements [encoding.TextMarshaler]. It keeps encoders from walking the
// fields.
func (s Settings) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Input holds the sources of the settings. Flags take precedence over Env, and Env over
// the file.
type Input struct {
	// Path is the path of the file. Default: AUTHSVC_CONFIG, else DefaultPath if that
	// file exists.
	Path string
	// Env holds the environment variables by name.
	Env map[string]string
	// Flags holds values from the command line by key, such as "listen".
	Flags map[string]string
	// Development leaves out parts that need a value of the deployment, if the
	// value is not available here; see [Settings.Gaps].
	Development bool
	// NoFile means that no file is read unless Path names one.
	NoFile bool
}

// Load reads the settings. The error is a [Mistakes] unless the file cannot be read.
func Load(in Input) (*Settings, error) {
	raw, name, exposed, err := readConfig(in)
	if err != nil {
		return nil, err
	}
	s, err := compile(in, name, raw)
	if s != nil && s.holdsSecret && exposed {
		s.Warnings = append(s.Warnings, quote(name)+" holds a secret and can be read by group or others; run chmod 600 on it, or move its secrets into variables")
	}
	if s != nil && name == "" && !in.NoFile {
		if _, err := os.Stat(otherPath); err == nil {
			s.Warnings = append(s.Warnings, quote(otherPath)+" is not read; rename it to "+DefaultPath+", or name it with --config")
		}
	}
	return s, err
}

// compile returns the settings of a file that has been read.
func compile(in Input, name string, raw []byte) (*Settings, error) {
	l := &loader{input: in, sources: sources{file: name, places: map[string]string{}, variables: map[string]string{}, unread: map[string]bool{}}, used: map[string]bool{}}
	root := l.parse(name, raw)
	s := l.settings(root)
	l.warnUnread(s, root)
	if s.Log.Level == "debug" && strings.HasPrefix(s.Engine.URL, "https:") {
		l.warn("log.level is debug at a public address: the log contains more about people than necessary; set it to info when you are done")
	}
	s.Replaced, s.Warnings, s.Gaps, s.sources, s.holdsSecret = l.replaced, slices.Concat(l.replaced, l.warnings), l.gaps, l.sources, l.holdsSecret
	if host, _, _ := net.SplitHostPort(s.Admin.Listen); s.Admin.Listen != "" && !strings.HasPrefix(s.Admin.Listen, "unix:") && !s.Admin.AllowRemote && !weburl.Loopback(host) {
		l.mistakes = append(l.mistakes, s.Mistake("admin.listen", quote(s.Admin.Listen)+" is not a loopback address",
			"write one such as 127.0.0.1:9090 or unix:/run/authsvc/admin.sock, or set admin.allow_remote if only your own machines reach it"))
	}
	switch {
	case len(l.mistakes) == 0:
		return s, nil
	case name != "" && len(root.members) == 0: // the file could not be read
		return nil, l.mistakes
	}
	return s, l.mistakes
}

// readConfig returns the contents and the name of the file, or "" if there is none.
// exposed means that group or others can read the file.
func readConfig(in Input) (raw []byte, name string, exposed bool, err error) {
	name = in.Path
	if name == "" {
		name = in.Env["AUTHSVC_CONFIG"]
	}
	wanted := name != ""
	if !wanted && in.NoFile {
		return nil, "", false, nil
	}
	if !wanted {
		name = DefaultPath
	}
	raw, info, err := readFile(name, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !wanted:
		return nil, "", false, nil
	case err != nil:
		if problem, fix := nameProblem(name); problem != "" && in.Path == "" {
			return nil, "", false, Mistakes{{Place: "AUTHSVC_CONFIG", Problem: problem, Fix: fix}}
		}
		return nil, "", false, Mistakes{{Place: name, Problem: "cannot be read: " + err.Error(), Fix: unreadableFix(err)}}
	}
	return raw, name, readableByOthers(in, name, info), nil
}

// unreadableFix returns what to do if the file cannot be read because of err.
func unreadableFix(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "let the user that runs authsvc read it and enter its folder: change owner or mode"
	}
	return "name the file with --config or AUTHSVC_CONFIG"
}

// readableByOthers reports whether group or others can read a file. A credential, which the
// service manager keeps in a directory that only the service can enter, is not exposed:
// its access control list shows as permissions of the group.
func readableByOthers(in Input, name string, info fs.FileInfo) bool {
	dir := in.Env["CREDENTIALS_DIRECTORY"]
	credential := filepath.IsAbs(dir) && filepath.Dir(filepath.Clean(name)) == filepath.Clean(dir)
	return info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 && !credential
}

// readFile reads a file of at most limit bytes. It refuses directories.
func readFile(name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	if info.IsDir() {
		return nil, nil, errors.New("it is a directory")
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	if int64(len(raw)) > limit {
		return nil, nil, fmt.Errorf("it is larger than %d KiB", limit>>10)
	}
	return raw, info, nil
}

// withoutPath removes the path from an error, because the caller names it.
func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
