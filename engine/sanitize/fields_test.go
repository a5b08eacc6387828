package sanitize

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestFields checks that texts at every place of a value become one line, and that the rest
// stays.
func TestFields(t *testing.T) {
	type inner struct {
		Name string
		kept string //nolint:unused // Fields must skip it
	}
	type outer struct {
		State  engine.Status
		List   []inner
		ByName map[string]inner
		Lists  map[string][]string
		At     time.Time
		N      int
		Fixed  [1]string
	}
	at := time.Date(2026, 11, 27, 0, 0, 0, 0, time.Local)
	v := outer{State: "ok\nROW", List: []inner{{Name: "a\tb"}}, ByName: map[string]inner{"x": {Name: "\x1b[2Jc"}}, Lists: map[string][]string{"y": {"d\ne"}}, At: at, N: 7, Fixed: [1]string{"f\ng"}}
	Fields(&v)
	want := outer{State: "ok ROW", List: []inner{{Name: "a b"}}, ByName: map[string]inner{"x": {Name: "c"}}, Lists: map[string][]string{"y": {"d e"}}, At: at, N: 7, Fixed: [1]string{"f g"}}
	if diff := cmp.Diff(want, v, cmp.AllowUnexported(inner{})); diff != "" {
		t.Error(diff)
	}
}

// TestResult checks that no text of a result keeps an escape sequence, and that an error which
// is shared stays as it is.
func TestResult(t *testing.T) {
	failure := &engine.Failure{Message: "m\x1b[2J", Detail: "d\x1b[2J\nline", Exit: 3}
	r := engine.Result{Reason: "r\x1b[2J", Failure: failure, Output: engine.Output{"k\x1b[2J": []any{"v\x1b[2J"}},
		Change: &engine.Change{MissingDir: "l\n", Effects: []engine.Effect{{Kind: "k\n", Target: "t\x1b[2J", Action: "a\x1b[2J", Diff: "+\x1b[2J\n"}}}}
	Result(&r)
	want := engine.Result{Reason: "r", Failure: &engine.Failure{Message: "m", Detail: "d\nline", Exit: 3}, Output: engine.Output{"k": []any{"v"}},
		Change: &engine.Change{MissingDir: "l ", Effects: []engine.Effect{{Kind: "k ", Target: "t", Action: "a", Diff: "+\n"}}}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	if failure.Message != "m\x1b[2J" {
		t.Error("the shared error has changed")
	}
}

// TestEveryTextOfAnEffect checks that a new field of an effect is not forgotten.
func TestEveryTextOfAnEffect(t *testing.T) {
	var e engine.Effect
	fields := reflect.ValueOf(&e).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.String {
			f.SetString("x\x1b[2J")
		}
	}
	r := engine.Result{Change: &engine.Change{Effects: []engine.Effect{e}}}
	Result(&r)
	if got := fmt.Sprintf("%+v", r.Change.Effects[0]); strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
