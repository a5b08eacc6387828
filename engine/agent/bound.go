package agent

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"deployer/engine"
)

// Bounds of a result, in bytes. A diff longer than maxDiff nobody reads; an
// output longer than maxOutput is a mistake that would fill the controller's
// memory by the number of hosts.
const (
	maxDiff   = 64 << 10
	maxDetail = 64 << 10
	maxOutput = 8 << 20
)

// bound cuts what is too long in a result. Output is data, so it is never cut:
// too much of it makes the step fail.
func bound(r *engine.Result) {
	if r.Change != nil {
		for i := range r.Change.Effects {
			r.Change.Effects[i].Diff = cutEnd(r.Change.Effects[i].Diff, maxDiff)
		}
	}
	if r.Failure != nil {
		r.Failure.Message, r.Failure.Detail = cut(r.Failure.Message, maxDetail), cut(r.Failure.Detail, maxDetail)
	}
	if len(r.Output) == 0 {
		return
	}
	raw, err := json.Marshal(r.Output)
	if err == nil && len(raw) > maxOutput {
		err = fmt.Errorf("the limit is %d bytes, it has %d", maxOutput, len(raw))
	}
	if err != nil {
		r.Output, r.Status = nil, engine.Failed
		r.Failure = &engine.Failure{Message: "the output of the step cannot be sent: " + err.Error()}
	}
}

// cut keeps the end of a text, as errors come last.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	dropped := len(s) - limit
	for dropped < len(s) && !utf8.RuneStart(s[dropped]) {
		dropped++
	}
	return fmt.Sprintf("[... %d bytes left out ...]\n%s", dropped, s[dropped:])
}

// cutEnd keeps the beginning of a text.
func cutEnd(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n", s[:limit], len(s)-limit)
}
