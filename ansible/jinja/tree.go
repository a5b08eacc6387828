package jinja

// node is a part of an expression.
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
	list    []node
	dict    []pair
	pair    struct{ key, value node }
	grouped struct{ x node } // in parentheses
)

// arguments are those of a filter, test or call.
type arguments struct {
	list  []node
	named map[string]node
}

// at is the i-th argument, or the one of that name; nil when there is none.
func (a arguments) at(i int, name string) node {
	if i < len(a.list) {
		return a.list[i]
	}
	return a.named[name]
}

// bare takes parentheses away.
func bare(n node) node {
	if g, ok := n.(grouped); ok {
		return bare(g.x)
	}
	return n
}
