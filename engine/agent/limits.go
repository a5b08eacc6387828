package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/engine/jsonappend"
	"deployer/engine/protocol"
	"deployer/engine/protocol/codec"
	"deployer/engine/sanitize"
)

// Limits of a result in bytes. Nobody reads a diff longer than maxDiff; an output
// longer than maxOutput is a mistake, and would take its size on the controller for
// every host. The controller enforces protocol.MaxResults and codec.MaxWeight on every
// host; these limits are well below both.
const (
	maxDiff    = 64 << 10
	maxDetail  = 64 << 10
	maxOutput  = 8 << 20
	maxEffects = 7 << 20 // of all effects together; diffs are left out beyond it
	maxText    = protocol.MaxText / 10
)

// limitResult cuts the texts of a result to their limits. limitResult never cuts output, as
// output is data: a step with too much output fails.
func limitResult(r *engine.Result) {
	r.Reason = sanitize.CutStart(r.Reason, maxText)
	if r.Change != nil {
		limitEffects(r)
	}
	if r.Failure != nil {
		r.Failure.Message, r.Failure.Detail = sanitize.CutStart(r.Failure.Message, maxDetail), sanitize.CutStart(r.Failure.Detail, maxDetail)
	}
	if len(r.Output) == 0 {
		return
	}
	raw, err := json.Marshal(r.Output)
	if weight := jsonappend.Weigh(raw); err == nil && len(raw) > maxOutput {
		err = fmt.Errorf("it has %d bytes, the limit is %d", len(raw), maxOutput)
	} else if err == nil && weight > codec.MaxWeight/2 {
		err = fmt.Errorf("its values would take %d bytes of the controller's memory, the limit is %d", weight, codec.MaxWeight/2)
	}
	if err != nil {
		failUnsendable(r, "sending the output of the step: "+err.Error())
		r.Output = nil
	}
}

// limitEffects fits the effects of a result into one message. A list that is too
// long without diffs makes the step fail.
func limitEffects(r *engine.Result) {
	fitting, room := fitEffects(r.Change.Effects)
	if room < 0 {
		failUnsendable(r, fmt.Sprintf("sending the changes of the step: a list of %d is too long; split the step into several", len(fitting)))
		fitting = nil
	}
	r.Change.Effects = fitting
}

// fitEffects returns effects whose diffs fit into maxEffects bytes together: long
// diffs are cut, and diffs for which there is no room are left out. room is the
// number of bytes left, negative when the effects are too long even without diffs.
func fitEffects(all []engine.Effect) (fitting []engine.Effect, room int) {
	fitting, room = slices.Clone(all), maxEffects
	for i := range fitting {
		e := &fitting[i]
		e.Diff = sanitize.CutEnd(e.Diff, maxDiff)
		room -= len(e.Kind) + len(e.Target) + len(e.Action) + len(e.Reason) + effectBytes
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

// effectBytes is the size of an effect beside its texts, in bytes: the lengths of
// the texts, and memory on the controller.
const effectBytes = 32

func failUnsendable(r *engine.Result, why string) {
	r.Status, r.Failure = engine.StatusFailed, &engine.Failure{Message: why}
}
