package controlflow

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"deployer/engine"
	"deployer/engine/exprarg"
)

// Assert ends the host's run unless all its conditions hold.
type Assert struct {
	That       exprarg.Conditions `yaml:"that" short:"true" required:"true" doc:"one condition or a list, as in when; all must hold"`
	FailMsg    string             `yaml:"fail_msg" rule:"text" doc:"error when a condition does not hold, in one line with the cause and the advice; default: the condition"`
	Msg        string             `yaml:"msg" rule:"text" doc:"same as fail_msg"`
	SuccessMsg string             `yaml:"success_msg" rule:"text" doc:"text to show when all hold; default none"`
	Quiet      bool               `yaml:"quiet" doc:"show neither success_msg nor the values in the conditions; default false"`
}

var _ engine.Module = (*Assert)(nil)

// Check fails with the first condition that does not hold.
func (a *Assert) Check(context.Context, engine.System) (engine.Change, error) {
	for _, v := range a.That {
		if !v.Holds {
			return engine.Change{}, a.failure(v)
		}
	}
	change := engine.NoChange(nil)
	if a.SuccessMsg != "" && !a.Quiet {
		change.Effects = []engine.Effect{{Kind: engine.EffectShow, Target: "msg", Diff: a.SuccessMsg}}
	}
	return change, nil
}

// Apply is never needed.
func (*Assert) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (a *Assert) failure(v exprarg.Verdict) *engine.Failure {
	condition := fmt.Sprintf("%s does not hold", v.Expression)
	if v.Place != "" {
		condition += " (" + v.Place + ")"
	}
	message := cmp.Or(a.FailMsg, a.Msg)
	var detail []string
	if message == "" {
		message = condition
	} else {
		detail = append(detail, condition)
	}
	if !a.Quiet {
		detail = append(detail, v.Saw...)
	}
	return &engine.Failure{Message: message, Detail: strings.Join(detail, "\n"), Deterministic: true}
}
