package remote

import (
	"encoding/json"

	"deployer/engine"
)

// encodeSegment is json.Marshal for segments. A step's arguments are JSON that
// this program has made; encoding/json would read all of it again to be sure,
// and on a thousand hosts they are most of what the controller sends.
func encodeSegment(seg engine.Segment) ([]byte, error) {
	out, err := json.Marshal(struct {
		engine.Segment
		Steps *struct{} `json:"steps,omitempty"` // stands before that of the segment
	}{Segment: seg})
	if err != nil {
		return nil, err
	}
	size := len(out) + 16
	for _, s := range seg.Steps {
		size += len(s.Args) + len(s.Name) + 160
	}
	out = append(make([]byte, 0, size), out[:len(out)-1]...)
	out = append(out, `,"steps":[`...)
	for i, s := range seg.Steps {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendStep(out, s); err != nil {
			return nil, err
		}
	}
	return append(out, "]}"...), nil
}

func appendStep(out []byte, s engine.Step) ([]byte, error) {
	rest, err := json.Marshal(struct {
		engine.Step
		Args *struct{} `json:"args,omitempty"` // stands before that of the step
	}{Step: s})
	if err != nil {
		return nil, err
	}
	out = append(append(out, rest[:len(rest)-1]...), `,"args":`...)
	if s.Args == nil {
		return append(out, "null}"...), nil
	}
	return append(append(out, s.Args...), '}'), nil
}
