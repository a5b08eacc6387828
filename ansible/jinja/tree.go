package jinja

// node is a node of the syntax tree; its types are below.
type node interface{}

type (
	name    string   // a variable
	text    string   // 'a text'
	literal string   // a number, true, false, nil
	field   struct { // of.key, of['key'], of[key]
		of, key node
	}
	slice struct { // of[from:to]; nil where left out
		of, from, to node
	}
	call struct { // of.method(args), or function(args)
		of   node // nil for a function
		name string
		args arguments
	}
	filter struct { // of | name(args)
		of   node
		name string
		args arguments
	}
	test struct { // of is name(args)
		of   node
		name string
		args arguments
	}
	unary struct { // "not" or "-"
		op string
		x  node
	}
	binary struct {
		op   string
		a, b node
	}
	choice struct { // then if cond else other
		cond, then, other node
	}
	// certainList is a value that must be a list: any other one is an error of the run.
	certainList struct{ x node }

	list    []node
	dict    []pair
	pair    struct{ key, value node }
	grouped struct{ x node } // in parentheses
)

// arguments are the arguments of a filter, test or call.
type arguments struct {
	list  []node
	named map[string]node
}

// at returns the i-th argument or the argument of that name; nil without either.
func (a arguments) at(i int, name string) node {
	if i < len(a.list) {
		return a.list[i]
	}
	return a.named[name]
}

// bare strips parentheses.
func bare(n node) node {
	if g, ok := n.(grouped); ok {
		return bare(g.x)
	}
	return n
}

func isList(n node) bool {
	_, ok := n.(list)
	return ok
}
