package codec

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"deployer/engine"
)

// stepSize is an estimate of the bytes of a step beside arguments and name.
const stepSize = 80

// maxPreallocated is the number of steps for which memory is allocated before they
// are read: a short message could claim any number.
const maxPreallocated = 400

// null stands for the arguments of a step that has none.
const null = "null"

// AppendSegment appends an encoded segment to out. The error is that of an
// expectation (Step.Expect) that has no JSON.
func AppendSegment(out []byte, s engine.Segment) ([]byte, error) {
	size := len(s.Run) + 16
	for i := range s.Steps {
		size += len(s.Steps[i].Args) + len(s.Steps[i].Name) + stepSize
	}
	out = appendText(slices.Grow(out, size), s.Run)
	out = appendList(out, s.ResumedRuns)
	out = binary.AppendUvarint(out, flags(s.CheckOnly, s.Unlocked))
	out = binary.AppendUvarint(out, uint64(len(s.Steps)))
	var err error
	for i := range s.Steps {
		if out, err = appendStep(out, &s.Steps[i]); err != nil {
			return nil, fmt.Errorf("step %s: %w", s.Steps[i].ID, err)
		}
	}
	return out, nil
}

func appendStep(out []byte, s *engine.Step) ([]byte, error) {
	out = appendText(appendText(appendText(out, s.ID), s.Name), s.Module)
	if s.Args == nil {
		out = appendText(out, null)
	} else {
		out = appendText(out, s.Args)
	}
	out = binary.AppendUvarint(out, flags(s.IgnoreErrors, s.Secret))
	out = appendList(appendList(out, s.OnChange), s.Notifies)
	out = appendText(out, s.Handles)
	out = appendNumber(appendNumber(appendNumber(out, s.Retries), s.Delay), s.Timeout)
	out = appendList(appendText(out, s.User), s.Env)
	return appendJSON(out, s.Expect, s.Expect != nil)
}

// ReadSegment decodes a segment, which shares the memory of data.
func ReadSegment(data []byte) (engine.Segment, error) {
	r := newReader(data)
	s := engine.Segment{Run: r.string(), ResumedRuns: r.list()}
	set := r.flags()
	s.CheckOnly, s.Unlocked = set&1 != 0, set&2 != 0
	if steps := r.count(); steps > 0 {
		s.Steps = make([]engine.Step, 0, min(steps, maxPreallocated))
		for i := 0; i < steps && r.err == nil; i++ {
			s.Steps = append(s.Steps, r.step())
		}
	}
	if r.more() {
		r.fail(fmt.Errorf("the message has %d extra bytes", len(data)-r.offset))
	}
	if r.err != nil {
		return engine.Segment{}, r.err
	}
	return s, nil
}

func (r *reader) step() engine.Step {
	s := engine.Step{ID: r.string(), Name: r.string(), Module: r.string(), Args: r.raw()}
	set := r.flags()
	s.IgnoreErrors, s.Secret = set&1 != 0, set&2 != 0
	s.OnChange, s.Notifies, s.Handles = r.list(), r.list(), r.string()
	s.Retries, s.Delay, s.Timeout = int(r.number()), time.Duration(r.number()), time.Duration(r.number())
	s.User, s.Env = r.string(), r.list()
	r.json(&s.Expect)
	return s
}
