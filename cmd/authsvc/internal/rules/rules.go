// Package rules compiles and evaluates the expressions of a configuration, in the
// Common Expression Language (CEL, cel.dev).
//
// Compiling an expression parses it, checks its types and estimates its cost. The cost
// of an evaluation is limited. After an error, including a cost above the limit,
// nothing is decided, which callers must treat as a refusal.
package rules

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"google.golang.org/protobuf/types/known/structpb"
)

// A Kind says what an expression decides. It determines the variables and the type of
// the expression.
type Kind int

// Kinds of expressions.
const (
	SignIn   Kind = iota // whether a user may sign in
	Claims               // claims that stay with the session
	Redirect             // where a callbackUrl may lead
	When                 // who may have access that requires more than a session
)

// CostLimit limits one evaluation, in units of CEL. An operation costs about one unit,
// and so does looking at ten characters.
const CostLimit = 20_000

// Limits of an expression.
const (
	maxLength = 16 << 10 // code points
	maxDepth  = 100      // of nesting
)

// A Problem is a mistake in an expression. Line and Column count from 1, columns in
// characters. Both are 0 if the mistake has no particular place.
type Problem struct {
	Line, Column int
	Message      string
}

// A Rule is a compiled expression. It is safe for concurrent use.
type Rule struct {
	kind    Kind
	program cel.Program
}

// Compile returns the rule of an expression, or all of its mistakes.
func Compile(kind Kind, text string) (*Rule, []Problem) {
	return environments[kind].compile(kind, text)
}

func (e *environment) compile(kind Kind, text string) (*Rule, []Problem) {
	e.mu.Lock()
	defer e.mu.Unlock()
	env, err := e.get(kind)
	if err != nil {
		return nil, []Problem{{Message: err.Error()}}
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, problems(issues)
	}
	if message := wrongType(kind, ast.OutputType()); message != "" {
		return nil, []Problem{{Line: 1, Column: 1, Message: message}}
	}
	cost, err := env.EstimateCost(ast, sizes{})
	switch {
	case err != nil:
		return nil, []Problem{{Message: "the cost cannot be estimated: " + err.Error()}}
	case cost.Min > CostLimit:
		return nil, []Problem{{Line: 1, Column: 1, Message: fmt.Sprintf("costs at least %d, and the maximum is %d", cost.Min, CostLimit)}}
	}
	program, err := env.Program(ast, cel.CostLimit(CostLimit), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, []Problem{{Line: 1, Column: 1, Message: err.Error()}}
	}
	return &Rule{kind: kind, program: program}, nil
}

// problems returns the mistakes that CEL found, in the order of the text.
func problems(issues *cel.Issues) []Problem {
	var all []Problem
	for _, e := range issues.Errors() {
		p := Problem{Line: e.Location.Line(), Column: max(1, e.Location.Column()+1), Message: plain(e.Message)}
		if p.Line < 1 {
			p.Line, p.Column = 0, 0
		}
		all = append(all, p)
	}
	return all
}

// plain returns a message of CEL on one line, without the list of all tokens that its
// grammar allows.
func plain(message string) string {
	message, _, _ = strings.Cut(strings.ReplaceAll(message, "\n", " "), " expecting {")
	return strings.ReplaceAll(message, "mismatched input '<EOF>'", "it ends too early")
}

// wrongType returns the problem with the type of an expression. Values of a profile
// have a dynamic type, so their types are checked at evaluation.
func wrongType(kind Kind, t *cel.Type) string {
	if t.IsExactType(cel.DynType) {
		return ""
	}
	if kind != Claims {
		if t.IsExactType(cel.BoolType) {
			return ""
		}
		return "is " + t.String() + ", not true or false"
	}
	if params := t.Parameters(); t.Kind() == types.MapKind && len(params) == 2 && (params[0].IsExactType(cel.StringType) || params[0].IsExactType(cel.DynType)) {
		return ""
	}
	return "is " + t.String() + `, not a map of names to values such as {"tier": "gold"}`
}

// An environment is created once for each kind, because that takes about a millisecond.
// It compiles one expression at a time: at the first unknown name, the checker of
// cel-go 0.33 fills its catalogue of suggestions while other goroutines may read it.
type environment struct {
	mu  sync.Mutex
	env *cel.Env
}

var environments [4]environment

func (e *environment) get(kind Kind) (*cel.Env, error) {
	if e.env != nil {
		return e.env, nil
	}
	env, err := newEnvironment(kind)
	e.env = env
	return env, err
}

// errType means that the value of an expression does not have the type of its kind.
var errType = errors.New("the value is neither true nor false")

// Holds evaluates an expression that decides. An error decides nothing.
func (r *Rule) Holds(v *Variables) (bool, error) {
	out, err := r.eval(v)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, errType
	}
	return bool(b), nil
}

// Map evaluates an expression of claims. The result has the types of JSON: numbers are
// float64, times text, bytes base64.
func (r *Rule) Map(v *Variables) (map[string]any, error) {
	out, err := r.eval(v)
	if err != nil {
		return nil, err
	}
	native, err := out.ConvertToNative(types.JSONStructType)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the claims as JSON: %w", err)
	}
	object, ok := native.(*structpb.Struct)
	if !ok {
		return nil, errors.New("the claims are not an object")
	}
	return object.AsMap(), nil
}

// eval evaluates an expression. It returns panics of the library as errors.
func (r *Rule) eval(v *Variables) (out ref.Val, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("the evaluation panicked: %.200v", p)
		}
	}()
	out, _, err = r.program.Eval(v.activation(r.kind))
	return out, err
}
