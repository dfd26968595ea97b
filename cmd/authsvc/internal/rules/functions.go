package rules

import (
	"net/netip"
	"reflect"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// domainFunction defines domain(string). It returns the text after the last @ of an
// address in lower case, or "" if there is none.
func domainFunction() cel.EnvOption {
	return cel.Function("domain", cel.Overload("domain_string", []*cel.Type{cel.StringType}, cel.StringType,
		cel.UnaryBinding(func(v ref.Val) ref.Val {
			address, ok := v.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			at := strings.LastIndexByte(string(address), '@')
			if at < 0 {
				return types.String("")
			}
			return types.String(strings.ToLower(string(address)[at+1:]))
		})))
}

// networkType is the type of the result of network.
var networkType = cel.OpaqueType("network").WithTraits(traits.ContainerType)

// A network is a value of networkType.
type network struct{ prefix netip.Prefix }

// ConvertToNative implements [ref.Val]. It fails, because a network is only for
// contains.
func (n network) ConvertToNative(t reflect.Type) (any, error) {
	return nil, types.NewErr("a network cannot be used as %v", t).(error) //nolint:forcetypeassert // it is one
}

// ConvertToType implements [ref.Val].
func (n network) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("a network cannot be used as %v", t.TypeName())
}

// Equal implements [ref.Val].
func (n network) Equal(other ref.Val) ref.Val {
	o, ok := other.(network)
	return types.Bool(ok && o.prefix == n.prefix)
}

// Contains implements [traits.Container] for the operator in.
func (n network) Contains(v ref.Val) ref.Val {
	text, ok := v.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	ip, err := netip.ParseAddr(string(text))
	return types.Bool(err == nil && n.prefix.Contains(ip.Unmap()))
}

// Type implements [ref.Val].
func (n network) Type() ref.Type { return networkType }

// Value implements [ref.Val].
func (n network) Value() any { return n.prefix }

// networkFunctions defines network(string), network.contains(string) and string in
// network. The last two are false for a string that is not an address.
func networkFunctions() cel.EnvOption {
	make := cel.Function("network", cel.Overload("network_string", []*cel.Type{cel.StringType}, networkType,
		cel.UnaryBinding(func(v ref.Val) ref.Val {
			text, ok := v.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			p, err := prefixOf(string(text))
			if err != nil {
				return types.WrapErr(err)
			}
			return network{p}
		})))
	contains := cel.Function("contains", cel.MemberOverload("network_contains_string", []*cel.Type{networkType, cel.StringType}, cel.BoolType,
		cel.BinaryBinding(func(of, v ref.Val) ref.Val {
			n, ok := of.(network)
			if !ok {
				return types.MaybeNoSuchOverloadErr(of)
			}
			return n.Contains(v)
		})))
	in := cel.Function("@in", cel.Overload("string_in_network", []*cel.Type{cel.StringType, networkType}, cel.BoolType))
	return cel.Lib(functions{make, contains, in})
}

// functions combines several options into one.
type functions []cel.EnvOption

// CompileOptions implements [cel.Library].
func (f functions) CompileOptions() []cel.EnvOption { return f }

// ProgramOptions implements [cel.Library].
func (functions) ProgramOptions() []cel.ProgramOption { return nil }

// networkLiterals refuses network("…") at compile time if the literal is not a network.
type networkLiterals struct{}

// Name implements [cel.ASTValidator].
func (networkLiterals) Name() string { return "authsvc.network" }

// Validate implements [cel.ASTValidator].
func (networkLiterals) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, iss *cel.Issues) {
	for _, call := range ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher("network")) {
		args := call.AsCall().Args()
		if len(args) != 1 || args[0].Kind() != ast.LiteralKind {
			continue
		}
		if text, ok := args[0].AsLiteral().(types.String); ok {
			if _, err := prefixOf(string(text)); err != nil {
				iss.ReportErrorAtID(args[0].ID(), "%v", err)
			}
		}
	}
}
