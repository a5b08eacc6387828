package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"deployer/engine"
	"deployer/engine/codec"
	"deployer/engine/jsonappend"
	"deployer/engine/wire"
)

// Bounds of a result, in bytes. A diff longer than maxDiff nobody reads; an
// output longer than maxOutput is a mistake that would fill the controller's
// memory by the number of hosts. The controller holds every host to
// wire.MaxResults and codec.MaxWeight, of which these are well below.
const (
	maxDiff    = 64 << 10
	maxDetail  = 64 << 10
	maxOutput  = 8 << 20
	maxEffects = 7 << 20 // of all effects together; diffs are left out beyond it
	maxText    = wire.MaxText / 10
)

// limitResult cuts what is too long in a result. Output is data, so it is never cut:
// too much of it makes the step fail.
func limitResult(r *engine.Result) {
	r.Reason = cut(r.Reason, maxText)
	if r.Change != nil {
		limitEffects(r)
	}
	if r.Failure != nil {
		r.Failure.Message, r.Failure.Detail = cut(r.Failure.Message, maxDetail), cut(r.Failure.Detail, maxDetail)
	}
	if len(r.Output) == 0 {
		return
	}
	raw, err := json.Marshal(r.Output)
	if weight := jsonappend.Weigh(raw); err == nil && len(raw) > maxOutput {
		err = fmt.Errorf("the limit is %d bytes, it has %d", maxOutput, len(raw))
	} else if err == nil && weight > codec.MaxWeight/2 {
		err = fmt.Errorf("it has so many values that it would take %d bytes of the controller's memory, the limit is %d", weight, codec.MaxWeight/2)
	}
	if err != nil {
		failUnsendable(r, "the output of the step cannot be sent: "+err.Error())
		r.Output = nil
	}
}

// limitEffects fits the effects of a result into a message.
func limitEffects(r *engine.Result) {
	fitting, room := fitEffects(r.Change.Effects)
	if room < 0 {
		failUnsendable(r, fmt.Sprintf("what the step changes cannot be sent: a list of %d things is too long; make several steps of it", len(fitting)))
		fitting = nil
	}
	r.Change.Effects = fitting
}

// fitEffects cuts diffs, and leaves out those for which there is no room: a change
// of thousands of files is read by its list of files. The room that is left is
// negative when that list is too long by itself.
func fitEffects(all []engine.Effect) (fitting []engine.Effect, room int) {
	fitting, room = slices.Clone(all), maxEffects
	for i := range fitting {
		e := &fitting[i]
		e.Diff = cutEnd(e.Diff, maxDiff)
		room -= len(e.Kind) + len(e.Target) + len(e.Action) + effectBytes
	}
	free := room
	for i := range fitting {
		if e := &fitting[i]; len(e.Diff) > free {
			e.Diff = ""
		}
		free -= len(fitting[i].Diff)
	}
	return fitting, room
}

// effectBytes is what an effect takes beside its texts: the lengths of these, and
// memory on the controller.
const effectBytes = 32

func failUnsendable(r *engine.Result, why string) {
	r.Status, r.Failure = engine.Failed, &engine.Failure{Message: why}
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
