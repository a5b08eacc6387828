package profile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns the text of a random expression and its value, which Go computes.
func random(r *rand.Rand, values map[string]bool, depth int) (string, bool) {
	switch n := r.IntN(6); {
	case depth == 0 || n == 0:
		name := string(rune('a' + r.IntN(4)))
		return name, values[name]
	case n == 1:
		text, value := random(r, values, depth-1)
		return "!(" + text + ")", !value
	case n < 4:
		a, x := random(r, values, depth-1)
		b, y := random(r, values, depth-1)
		return fmt.Sprintf("(%s)&&  (%s)", a, b), x && y
	default:
		a, x := random(r, values, depth-1)
		b, y := random(r, values, depth-1)
		return fmt.Sprintf("(%s) || (%s)", a, b), x || y
	}
}

func TestExpressionsHaveTheValueOfLogic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		values := map[string]bool{"a": r.IntN(2) == 0, "b": r.IntN(2) == 0, "c": r.IntN(2) == 0, "d": r.IntN(2) == 0}
		text, want := random(r, values, 5)
		e, err := ParseExpression(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := e.Eval(func(name string) bool { return values[name] }); got != want {
			t.Fatalf("%s with %v: got %v", text, values, got)
		}
	}
}

func TestPrecedence(t *testing.T) {
	for text, want := range map[string]bool{
		"t || f && f": true, "(t || f) && f": false, "!f && f": false, "!(f && f)": true, "!!t": true, "f||t": true, "!f||t&&f": true,
	} {
		e, err := ParseExpression(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Eval(func(name string) bool { return name == "t" }); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

func TestNamesAreListedOnce(t *testing.T) {
	e, err := ParseExpression("b-2 && (a_1 || !b-2)")
	if err != nil || !slices.Equal(e.Names(), []string{"b-2", "a_1"}) {
		t.Errorf("%v, %v", e.Names(), err)
	}
}

func FuzzParseExpression(f *testing.F) {
	for _, text := range []string{"a && !(b || c)", "((", ")", "!", "a b", "a &", "\x00", "ä||ö"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpression(text)
		if err != nil {
			return
		}
		for _, r := range e.refs {
			if text[r.offset:r.offset+len(r.name)] != r.name {
				t.Errorf("%q is not at %d", r.name, r.offset)
			}
		}
		e.Eval(func(string) bool { return true })
	})
}
