package dialect

import (
	"errors"
	"strings"

	"github.com/expr-lang/expr/parser/lexer"
)

// ChoiceName is the function that `A if CONDITION else B` calls: ChoiceName(A, CONDITION,
// B). Package lang replaces the call by a choice of expr, which evaluates A or B.
const ChoiceName = "__choice"

// itemEnds are the operators behind which another expression begins.
var itemEnds = []string{",", ";", ":", "?", "="}

// choice rewrites the if of `A if CONDITION else B`.
func (r *rewriter) choice(t lexer.Token) {
	top := r.top()
	r.wrap(r.toks[top.first].From, ChoiceName+"(")
	r.replace(t, t, ",")
	top.choices, top.noElse = top.choices+1, true
	top.expect, top.sign = true, false
}

// otherwise rewrites the else of a choice, behind which another choice may begin.
func (r *rewriter) otherwise(t lexer.Token) {
	top := r.top()
	r.replace(t, t, ",")
	top.noElse, top.first = false, r.i+1
	top.expect, top.sign = true, false
}

// endChoices closes the choices that end at a place. Without else a choice is the empty
// text, as in Jinja.
func (r *rewriter) endChoices(at int) {
	top := r.top()
	if top.choices == 0 {
		return
	}
	if top.noElse {
		r.insert(at, `, ""`)
	}
	r.insert(at, strings.Repeat(")", top.choices))
	top.choices, top.noElse = 0, false
}

// choose is the function of a choice.
func choose(args ...any) (any, error) {
	if len(args) != 3 {
		return nil, errors.New("want A if CONDITION else B")
	}
	holds, ok := args[1].(bool)
	switch {
	case !ok:
		return nil, errors.New("the condition of A if CONDITION else B is " + describe(args[1]) + ", want true or false")
	case holds:
		return args[0], nil
	}
	return args[2], nil
}
