package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string   `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
	Words []string `arg:"" optional:"" help:"After --: the words of a command line behind authsvc. Prints the words that may stand in place of the last one; the script calls this."`
}

// completionScripts holds the scripts of the shells. If authsvc prints no word, the shell
// completes names of files.
var completionScripts = map[string]string{
	"bash": `_authsvc() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _authsvc authsvc
`,
	"zsh": `#compdef authsvc
_authsvc() {
  local -a found
  found=("${(@f)$("${words[1]}" completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then
    _describe authsvc found
  else
    _files
  fi
}
if [ "${funcstack[1]}" = _authsvc ]; then _authsvc "$@"; else compdef _authsvc authsvc; fi
`,
	"fish": `function __authsvc_complete
  set -l words (commandline -opc)
  set -l found ($words[1] completion fish -- $words[2..] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c authsvc -f -a '(__authsvc_complete)'
`,
}

// Run prints the script of a shell or, with words, what may stand in place of the last
// one. It reads neither the configuration nor the store.
func (c completionCommand) Run(p *program) error {
	if len(c.Words) == 0 {
		_, err := io.WriteString(p.stdout, completionScripts[c.Shell])
		return err
	}
	var all commands
	for _, word := range candidates(newParser(&all, io.Discard, io.Discard).Model.Node, c.Words) {
		line := word.text
		switch c.Shell {
		case "zsh": // the text ends at a colon
			line = strings.ReplaceAll(word.text, ":", `\:`) + ":" + word.help
		case "fish":
			line += "\t" + word.help
		}
		if _, err := fmt.Fprintln(p.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// A candidate is a word of a command line, with its help.
type candidate struct{ text, help string }

// A commandState holds the meaning of the words before the last one.
type commandState struct {
	node   *kong.Node
	args   int        // positional arguments so far
	flag   *kong.Flag // the next word is its value
	noFlag bool       // after --
}

// candidates returns the words that may stand in place of the last one.
func candidates(root *kong.Node, words []string) (list []candidate) {
	s := commandState{node: root}
	for _, word := range words[:len(words)-1] {
		s.read(word)
	}
	last := words[len(words)-1]
	switch {
	case last == "=": // bash makes it a word
		last = ""
	case s.flag == nil && strings.HasPrefix(last, "-") && !s.noFlag:
		list = s.flags()
	}
	if list == nil {
		list = s.values()
	}
	return slices.DeleteFunc(list, func(c candidate) bool { return !strings.HasPrefix(c.text, last) })
}

// read adds a word.
func (s *commandState) read(word string) {
	switch {
	case word == "=" && s.flag != nil: // bash makes it a word
	case s.flag != nil:
		s.flag = nil
	case word == "--":
		s.noFlag = true
	case strings.HasPrefix(word, "-") && !s.noFlag:
		name, _, whole := strings.Cut(word, "=")
		for _, f := range s.allFlags() {
			if !whole && !f.IsBool() && (name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short)) {
				s.flag = f
			}
		}
	default:
		if s.node.Name == "help" && s.node.Leaf() { // its arguments are a command
			for s.node.Parent != nil {
				s.node = s.node.Parent
			}
		}
		if child := s.child(word); child != nil {
			s.node = child
			return
		}
		if s.node.DefaultCmd != nil {
			s.node = s.node.DefaultCmd
		}
		s.args++
	}
}

// child returns the subcommand with a name.
func (s *commandState) child(name string) *kong.Node {
	for _, n := range s.node.Children {
		if s.args == 0 && (n.Name == name || slices.Contains(n.Aliases, name)) {
			return n
		}
	}
	return nil
}

// allFlags returns the flags that may stand here.
func (s *commandState) allFlags() (list []*kong.Flag) {
	for _, group := range s.node.AllFlags(true) {
		list = append(list, group...)
	}
	if s.node.DefaultCmd != nil {
		list = append(list, s.node.DefaultCmd.Flags...)
	}
	return list
}

func (s *commandState) flags() (list []candidate) {
	for _, f := range s.allFlags() {
		if !f.Hidden {
			list = append(list, candidate{"--" + f.Name, f.Help})
		}
	}
	return list
}

// values returns the subcommands, and the values of the flag or of the argument that
// stands here.
func (s *commandState) values() (list []candidate) {
	var of *kong.Value
	node := s.node
	if node.Name == "help" && node.Leaf() {
		node = node.Parent
	}
	if s.flag == nil && s.args == 0 {
		for _, n := range node.Children {
			if !n.Hidden {
				list = append(list, candidate{n.Name, n.Help})
			}
		}
	}
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	switch {
	case s.flag != nil:
		of = s.flag.Value
	case s.args < len(node.Positional):
		of = node.Positional[s.args]
	}
	if of != nil && of.Enum != "" {
		for _, value := range of.EnumSlice() {
			list = append(list, candidate{value, ""})
		}
	}
	return list
}
