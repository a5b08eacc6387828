package dialect

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// longest is the maximum size of an expression, in bytes: the parser recurses as deep as
// the expression has parentheses.
const longest = 64 << 10

// Rewrite turns an expression into one that expr reads:
//
//   - a filter behind | binds to the value before it, as in Jinja, and needs no
//     parentheses: a + b | upper is a + upper(b);
//   - NAME=VALUE among the arguments of a call is a named argument;
//   - a filter with its collection, ansible.builtin.default, is known by its last part;
//   - X is TEST and X is not TEST call the test of Ansible: x is defined;
//   - A if CONDITION else B is a choice, of which only one value is evaluated;
//   - a backslash in quotes that escapes nothing stands for itself.
//
// An expression that cannot be read is returned unchanged, so that the parser reports the error.
func (l *Language) Rewrite(src string) (Source, error) {
	if len(src) > longest {
		return Source{}, errors.New("the expression is longer than 64 KiB")
	}
	s := Source{Text: src}.then(escapes(src))
	if !strings.ContainsAny(s.Text, "|=") && !jinjaWord.MatchString(s.Text) {
		return s, nil
	}
	toks, err := lexer.Lex(file.NewSource(s.Text))
	if err != nil {
		return s, nil //nolint:nilerr // the parser finds the same, with its place
	}
	r := &rewriter{lang: l, toks: toks, frames: []frame{{operand: -1, expect: true, named: -1}}}
	for r.i = 0; r.i < len(toks); r.i++ {
		r.token(toks[r.i])
	}
	r.endChoices(len([]rune(s.Text)))
	return s.then(r.edits), nil
}

// jinjaWord matches the words of Jinja that are rewritten.
var jinjaWord = regexp.MustCompile(`\b(is|if)\b`)

// rewriter walks the tokens of an expression.
type rewriter struct {
	lang   *Language
	toks   []lexer.Token
	i      int
	frames []frame // one for each open bracket, and one around
	edits  []edit
}

// frame is the content between two brackets.
type frame struct {
	operand int  // the token with which the value begins that a | would filter
	expect  bool // a value comes next, not an operator
	sign    bool // the operand began with a sign
	call    bool // the arguments of a function
	closes  bool // one more ) stands behind the filter
	named   int  // the argument that began here is a named one; -1 for none
	first   int  // the token with which the item of a list, argument or value of a mapping begins
	choices int  // choices that end with this item
	noElse  bool // the last of them has no else yet
}

func (r *rewriter) top() *frame { return &r.frames[len(r.frames)-1] }

func (r *rewriter) is(i int, kind lexer.Kind, values ...string) bool {
	return i < len(r.toks) && r.toks[i].Kind == kind && (len(values) == 0 || slices.Contains(values, r.toks[i].Value))
}

func (r *rewriter) insert(at int, text string) { r.edits = append(r.edits, edit{at: at, text: text}) }

// wrap inserts a text in front of all that is inserted at the same place already.
func (r *rewriter) wrap(at int, text string) {
	r.edits = slices.Insert(r.edits, 0, edit{at: at, text: text})
}

// replace writes a text instead of tokens.
func (r *rewriter) replace(from, to lexer.Token, text string) {
	r.edits = append(r.edits, edit{at: from.From, del: to.To - from.From, text: text})
}

func (r *rewriter) token(t lexer.Token) {
	top := r.top()
	switch {
	case t.Kind == lexer.Bracket && strings.ContainsAny(t.Value, "([{"):
		r.open(t)
	case t.Kind == lexer.Bracket:
		r.closed(t)
	case !top.expect && t.Kind == lexer.Identifier && t.Value == "is" && !r.is(r.i-1, lexer.Operator, ".", "?.") && r.test():
	case t.Kind == lexer.Identifier || t.Kind == lexer.String || t.Kind == lexer.Number || t.Kind == lexer.Bytes:
		if top.call && t.Kind == lexer.Identifier && r.is(r.i+1, lexer.Operator, "=") && r.is(r.i-1, lexer.Bracket, "(") ||
			top.call && t.Kind == lexer.Identifier && r.is(r.i+1, lexer.Operator, "=") && r.is(r.i-1, lexer.Operator, ",") {
			r.namedArgument(t)
			return
		}
		r.begin()
	case t.Kind != lexer.Operator:
	case t.Value == "|":
		r.filter()
	case t.Value == "#" || (t.Value == "." && top.expect):
		r.begin()
	case t.Value == "." || t.Value == "?.":
	case (t.Value == "-" || t.Value == "+") && top.expect:
		if !top.sign {
			top.operand, top.sign = r.i, true
		}
	case t.Value == "if" && !top.expect && !top.noElse:
		r.choice(t)
	case t.Value == "else" && top.noElse:
		r.otherwise(t)
	default:
		if slices.Contains(itemEnds, t.Value) {
			r.endChoices(t.From)
			top.first = r.i + 1
		}
		if t.Value == "," {
			r.endNamed(t.From)
		}
		top.expect, top.sign = true, false
	}
}

// begin records where a value begins.
func (r *rewriter) begin() {
	top := r.top()
	if top.expect && !top.sign {
		top.operand = r.i
	}
	top.expect, top.sign = false, false
}

func (r *rewriter) open(t lexer.Token) {
	call := t.Value == "(" && !r.top().expect
	r.begin()
	r.frames = append(r.frames, frame{operand: -1, expect: true, call: call, named: -1, first: r.i + 1})
}

func (r *rewriter) closed(t lexer.Token) {
	r.endChoices(t.From)
	r.endNamed(t.From)
	if len(r.frames) == 1 {
		return
	}
	closes := r.top().closes
	r.frames = r.frames[:len(r.frames)-1]
	r.top().expect = false
	if closes {
		r.insert(t.To, ")")
	}
}

// filter rewrites a name behind |.
func (r *rewriter) filter() {
	top := r.top()
	first := r.i + 1
	if top.expect || top.operand < 0 || !r.is(first, lexer.Identifier) {
		top.expect = true
		return // the parser reports the error
	}
	last := r.qualified(first)
	if last > first {
		r.edits = append(r.edits, edit{at: r.toks[first].From, del: r.toks[last].From - r.toks[first].From})
	}
	name, end := r.toks[last].Value, r.toks[last].To
	called := r.is(last+1, lexer.Bracket, "(")
	r.wrap(r.toks[top.operand].From, "(")
	r.insert(end, strings.TrimPrefix(r.lang.filterName(name, called, r.plainArgument(last+2)), name))
	r.i = last
	if !called {
		r.insert(end, "())")
		return
	}
	r.i++
	r.frames = append(r.frames, frame{operand: -1, expect: true, call: true, closes: true, named: -1, first: r.i + 1})
}

// qualified returns the last token of a name with its collection, ansible.builtin.NAME, or
// first for a name without one.
func (r *rewriter) qualified(first int) int {
	if r.is(first+1, lexer.Operator, ".") && r.is(first+2, lexer.Identifier) && r.is(first+3, lexer.Operator, ".") && r.is(first+4, lexer.Identifier) {
		return first + 4
	}
	return first
}

// plainArgument reports whether the first argument of a filter has the form of Jinja, such
// as 'upper' or attribute='name', where expr expects a predicate.
func (r *rewriter) plainArgument(i int) bool {
	if r.is(i, lexer.Identifier) && r.is(i+1, lexer.Operator, "=") {
		return true
	}
	return r.is(i, lexer.String) && (r.is(i+1, lexer.Operator, ",") || r.is(i+1, lexer.Bracket, ")"))
}

// namedArgument writes NAME=VALUE as a call that makes a named argument.
func (r *rewriter) namedArgument(t lexer.Token) {
	eq := r.toks[r.i+1]
	r.edits = append(r.edits, edit{at: t.From, del: eq.To - t.From, text: NamedName + `("` + t.Value + `", `})
	r.i++
	top := r.top()
	top.expect, top.sign, top.named, top.first = true, false, r.i, r.i+1
}

func (r *rewriter) endNamed(at int) {
	if top := r.top(); top.named >= 0 {
		r.insert(at, ")")
		top.named = -1
	}
}
