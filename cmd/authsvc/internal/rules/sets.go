package rules

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// setFunctions defines sets.contains, sets.equivalent and sets.intersects of two lists,
// as in cel-go's package ext. CEL only counts the cost of a call after it has returned.
// By then, comparing each element of one profile list with each element of another
// would have taken seconds.
func setFunctions() cel.EnvOption {
	list := cel.ListType(cel.TypeParamType("T"))
	var all functions
	for name, f := range map[string]func(a, b traits.Lister) ref.Val{
		"contains":   containsAll,
		"intersects": intersects,
		"equivalent": func(a, b traits.Lister) ref.Val {
			if v := containsAll(a, b); v != types.True {
				return v
			}
			return containsAll(b, a)
		},
	} {
		overload := "list_sets_" + name + "_list"
		all = append(all,
			cel.Function("sets."+name, cel.Overload(overload, []*cel.Type{list, list}, cel.BoolType, cel.BinaryBinding(bounded(f)))),
			cel.CostModel(cost.Overload(overload, cost.EvalCost(cost.Sum(cost.Const(cost.CallCost), cost.Mul(cost.Length(cost.Arg(0)), cost.Length(cost.Arg(1))))))))
	}
	return cel.Lib(all)
}

// bounded refuses lists that are too long for CostLimit before they are compared.
func bounded(f func(a, b traits.Lister) ref.Val) func(a, b ref.Val) ref.Val {
	return func(a, b ref.Val) ref.Val {
		x, ok := a.(traits.Lister)
		if !ok {
			return types.MaybeNoSuchOverloadErr(a)
		}
		y, ok := b.(traits.Lister)
		if !ok {
			return types.MaybeNoSuchOverloadErr(b)
		}
		if n, m := length(x), length(y); n > 0 && m > CostLimit/n {
			return types.NewErr("lists of %d and %d entries are too long to compare", n, m)
		}
		return f(x, y)
	}
}

func length(l traits.Lister) int64 {
	n, _ := l.Size().(types.Int)
	return int64(n)
}

func containsAll(list, all traits.Lister) ref.Val {
	for it := all.Iterator(); it.HasNext() == types.True; {
		if there := list.Contains(it.Next()); there != types.True {
			return there
		}
	}
	return types.True
}

func intersects(a, b traits.Lister) ref.Val {
	for it := a.Iterator(); it.HasNext() == types.True; {
		if b.Contains(it.Next()) == types.True {
			return types.True
		}
	}
	return types.False
}
