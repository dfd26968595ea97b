package main

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"authsvc/cmd/authsvc/internal/config"
)

// parse parses the command line. It returns the chosen command and the values of
// --config and --dev.
func parse(args []string, stdout, stderr io.Writer) (chosen *kong.Context, file, devDir string, err error) {
	args = idsLast(args)
	if part := commandsNamed(args); part != nil {
		if chosen, err = newParser(part, stdout, stderr).Parse(args); err == nil {
			flags := reflect.ValueOf(part).Elem()
			return chosen, flags.FieldByName("Config").String(), flags.FieldByName("DevFolder").String(), nil
		}
	}
	var all commands // its error messages know every command
	chosen, err = newParser(&all, stdout, stderr).Parse(args)
	return chosen, all.Config, all.DevFolder, err
}

// commandsNamed returns a pointer to a struct like commands that has only the commands
// named in args, or nil. Building a parser of all commands takes as long as the rest of
// a start.
func commandsNamed(args []string) any {
	if slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || strings.HasPrefix(arg, "--help") }) {
		return nil
	}
	var fields []reflect.StructField
	named := false
	for field := range reflect.TypeFor[commands]().Fields() {
		if _, command := field.Tag.Lookup("cmd"); command {
			if !slices.Contains(args, strings.ToLower(field.Name)) {
				continue
			}
			named = true
		}
		fields = append(fields, field)
	}
	if !named {
		return nil
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// newParser returns a parser for commands, or for a part of them.
func newParser(c any, stdout, stderr io.Writer) *kong.Kong {
	parser, err := kong.New(c, kong.Name("authsvc"), kong.Description("Signs people in: the HTTP interface of NextAuth.js as a service."),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(exitCode(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic(err) // the struct commands is malformed
	}
	return parser
}

// chosenCommand returns the command that a command line has chosen, with its parents:
// "authsvc users set", or "authsvc" if there is none. It leaves out a command that was
// chosen by default: the next word may be meant to name another one.
func chosenCommand(c *kong.Context) string {
	var names []string
	for node := c.Selected(); node != nil; node = node.Parent {
		byDefault := node.Parent != nil && node.Parent.DefaultCmd == node && !slices.ContainsFunc(append([]string{node.Name}, node.Aliases...),
			func(name string) bool { return slices.Contains(c.Args, name) })
		if node.Type == kong.CommandNode && !byDefault {
			names = append(names, node.Name)
		}
	}
	slices.Reverse(names)
	return strings.Join(append([]string{"authsvc"}, names...), " ")
}

// commandOf is chosenCommand for an error of parse.
func commandOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil {
		return chosenCommand(wrong.Context)
	}
	return "authsvc"
}

// parseProblem returns the text of an error of parse. Many programs call --listen
// --port, for which the parser would propose another flag.
func parseProblem(err error) string {
	if strings.HasPrefix(err.Error(), "unknown flag --port") {
		return "unknown flag --port; the port is part of --listen, such as --listen localhost:3000"
	}
	var wrong *kong.ParseError
	word, unexpected := strings.CutPrefix(err.Error(), "unexpected argument ")
	if !unexpected || strings.Contains(word, ", did you mean") || !errors.As(err, &wrong) || wrong.Context == nil {
		return err.Error()
	}
	// The parser suggests nothing if another command was chosen by default.
	node := wrong.Context.Selected()
	if node == nil || node.Parent == nil || node.Parent.DefaultCmd != node {
		return err.Error()
	}
	var names []string
	for _, sibling := range node.Parent.Children {
		names = append(names, sibling.Name)
	}
	if near := config.Closest(word, names); near != "" {
		return err.Error() + ", did you mean \"" + near + "\"?"
	}
	return err.Error()
}

// neverAsks is part of commands that change something without asking. They accept --yes
// too, so that scripts need not know which commands ask.
type neverAsks struct {
	Yes bool `hidden:"" help:"Has no effect: the command does not ask."`
}

// looksLikeID reports whether arg is a key ID or other base64url text that begins with
// a dash. Otherwise a single dash only precedes a one-letter flag.
func looksLikeID(arg string) bool {
	return len(arg) > 20 && arg[0] == '-' && arg[1] != '-' && !strings.ContainsFunc(arg[1:], func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// idsLast moves IDs that look like flags behind --, after which nothing is a flag.
func idsLast(args []string) []string {
	var rest, ids []string
	for _, arg := range args {
		if arg == "--" {
			return args
		}
		if looksLikeID(arg) {
			ids = append(ids, arg)
		} else {
			rest = append(rest, arg)
		}
	}
	if ids == nil {
		return args
	}
	return append(append(rest, "--"), ids...)
}
