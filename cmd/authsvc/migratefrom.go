package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"authsvc/cmd/authsvc/internal/migratefrom"
	"authsvc/internal/text/plainlog"
)

type migrateFromCommand struct {
	NextAuth migrateFromNextAuth `cmd:"" name:"next-auth" aliases:"auth-js" help:"Read an application that uses NextAuth.js or Auth.js, and propose a configuration."`
}

type migrateFromNextAuth struct {
	Path     string `arg:"" help:"The folder of the application, which has its package.json."`
	Out      string `short:"o" placeholder:"FILE" default:"authsvc.yaml" help:"Where to write the proposed configuration: a file that does not exist yet, or - for standard output. Default: authsvc.yaml."`
	URL      string `name:"url" placeholder:"URL" help:"The public address of the application, such as https://app.example.com."`
	Database string `placeholder:"URL" help:"Also look into this database, without changing it; auto means the URL in the environment or in the application's .env file."`
}

// Run prints what the application's folder says, and writes the proposal. If something
// is left for the operator to decide, the exit code is 1.
func (c *migrateFromNextAuth) Run(p *program) error {
	if c.URL != "" {
		if u, err := url.Parse(c.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return fmt.Errorf("--url is not an address such as https://app.example.com: %w", errUsage) // it may contain a password
		}
	}
	if err := c.checkOut(); err != nil {
		return err
	}
	r, err := c.read(p)
	if err != nil {
		return fmt.Errorf("%s: %w", plainlog.Text(c.Path), err)
	}
	out := p.stdout
	if c.Out == "-" { // standard output is the file
		out = p.stderr
	}
	c.print(out, r)
	if err := c.write(p, r.Config); err != nil {
		return err
	}
	if r.Undecided() {
		return errFindings
	}
	return nil
}

// read reads the folder and, with --database, the database that it names. The columns of
// the database are used for the proposal, so the folder is then read again.
func (c *migrateFromNextAuth) read(p *program) (*migratefrom.Report, error) {
	o := migratefrom.Options{URL: c.URL}
	r, err := migratefrom.Read(c.Path, o)
	if err != nil || c.Database == "" {
		return r, err
	}
	tables, problem := p.readDatabase(c.databaseURL(p, r))
	if problem != "" {
		r.Add(migratefrom.Open, "database", problem)
		return r, nil
	}
	o.Tables = tables
	if r, err = migratefrom.Read(c.Path, o); err == nil {
		r.Compare(tables)
	}
	return r, err
}

// checkOut refuses an existing file before the report is made.
func (c *migrateFromNextAuth) checkOut() error {
	if c.Out == "-" {
		return nil
	}
	if _, err := os.Lstat(c.Out); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("%s exists, and is never overwritten: name another file with -o, or -o - for standard output: %w", plainlog.Text(c.Out), errUsage))
	}
	return nil
}

// write writes the proposal to a new file, which only its owner can read.
func (c *migrateFromNextAuth) write(p *program, config []byte) error {
	if c.Out == "-" {
		_, err := p.stdout.Write(config)
		return err
	}
	f, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the proposal: %w", err)
	}
	_, err = f.Write(config)
	return errors.Join(err, f.Close())
}

// databaseURL returns the URL of --database, in the form that authsvc takes. With auto,
// the environment comes before the application's files.
func (c *migrateFromNextAuth) databaseURL(p *program, r *migratefrom.Report) string {
	location := c.Database
	if location == "auto" {
		location = cmp.Or(p.env[r.Storage.Variable], r.Storage.URL)
	}
	return migratefrom.WithoutForeignParameters(location)
}

// print prints the findings, the variables and the steps of the guide.
func (c *migrateFromNextAuth) print(out io.Writer, r *migratefrom.Report) {
	for _, f := range r.Findings {
		fmt.Fprintln(out, f)
	}
	fmt.Fprintln(out, "\nSet these variables for authsvc:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, v := range r.Variables {
		where := "not in a .env file"
		if len(v.Files) > 0 {
			where = "in " + strings.Join(v.Files, ", ")
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", plainlog.Text(v.Name), plainlog.Text(v.Use), plainlog.Text(where))
	}
	w.Flush() //nolint:errcheck // as for the other lines
	if file := r.EnvFile(); file != "" {
		fmt.Fprintf(out, "\nauthsvc reads no .env file. This line sets what the file has, if values with spaces or special characters are quoted there:\n  set -a; . %s; set +a\n", sourced(c.Path, file))
	}
	file := shellWord(c.Out)
	if c.Out == "-" {
		file = "authsvc.yaml"
	}
	fmt.Fprintf(out, "\nThen, as in docs/moving-from-nextauth.md:\n  authsvc check -c %[1]s\n", file)
	if r.Storage.Tables != nil {
		for _, step := range []string{"up --dry-run", "up", "normalize --dry-run", "normalize"} {
			fmt.Fprintf(out, "  authsvc migrate %s -c %s\n", step, file)
		}
	}
	if len(r.Exposed) > 0 {
		fmt.Fprintf(out, "  authsvc types -c %s > next-auth.d.ts\n", file)
	}
	fmt.Fprintf(out, "  authsvc serve -c %s\n", file)
	host := "app.example.com"
	if u, err := url.Parse(c.URL); err == nil && u.Host != "" {
		host = u.Host
	}
	fmt.Fprintf(out, `and with nginx (docs/moving-from-nextauth.md, step 5, has other proxies and platforms):
  location %s/ {
      proxy_pass http://%s;
      proxy_set_header Host %s;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_buffer_size 8k;
  }
`, plainlog.Text(r.BasePath), migratefrom.Listen, plainlog.Text(host))
}

// sourced returns a file of the application as an argument of the shell's dot, which
// takes a name without a slash from PATH.
func sourced(dir, file string) string {
	name := filepath.ToSlash(filepath.Join(dir, file))
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "../") {
		name = "./" + name
	}
	return shellWord(name)
}

// shellWord quotes a file name for a shell.
func shellWord(name string) string {
	name = filepath.ToSlash(plainlog.Text(name))
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
