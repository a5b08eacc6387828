package compile

import (
	"testing"

	"deployer/engine/lang"
	"deployer/engine/program"
)

func TestThrottleFallback(t *testing.T) {
	e, err := lang.CompileExpr("plan.bootstrap ? 0 : 5", lang.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]any{"plan": map[string]any{"bootstrap": false}}
	for _, tt := range []struct {
		e    *lang.Expr
		vars map[string]any
		want int
		bad  bool
	}{{e, known, 5, false}, {e, nil, 0, true}, {e.WithFallback(1), known, 5, false}, {e.WithFallback(1), nil, 1, false}, {lang.Number(7), nil, 7, false}} {
		got, err := program.ThrottleLimit(tt.e, nil, lang.NewVars(tt.vars, nil))
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%q with %v: %d, %v", tt.e.Src, tt.vars, got, err)
		}
	}
}
