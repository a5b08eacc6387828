package program

import (
	"fmt"
	"time"

	"deployer/engine/lang"
)

// Duration is a duration, or an expression that gives one as a text such as 2m.
type Duration struct {
	Default time.Duration // the duration, unless Expr computes it
	Expr    *lang.Expr    // nil when Default has the duration
}

// Duration computes a duration of the block's rollout; key is its keyword, for errors.
func (b *Block) Duration(key string, d Duration, vars *lang.Vars) (time.Duration, error) {
	if d.Expr == nil {
		return d.Default, nil
	}
	text, err := b.Text(d.Expr, vars)
	if err != nil {
		return 0, err
	}
	out, err := ParseDuration(text)
	if err != nil {
		return 0, d.Expr.Pos.Errorf("%s %q: %v", key, d.Expr.Src, err)
	}
	return out, nil
}

// ParseDuration reads a duration such as 2m or 90s, or 0. The duration may not be negative.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration; write something like 90s or 2m", text)
	}
	return d, nil
}
