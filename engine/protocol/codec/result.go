package codec

import (
	"encoding/binary"
	"time"

	"deployer/engine"
)

// AppendResult appends an encoded result to out. Fields that the controller knows
// (host, name of the step) are left out. The error is that of an output that has no
// JSON; out is returned unchanged then.
func AppendResult(out []byte, r *engine.Result) ([]byte, error) {
	before := out
	out = appendText(appendText(out, r.Step), r.Status)
	out = binary.AppendUvarint(out, flags(r.Ignored, r.Secret, r.Change != nil, r.Failure != nil))
	out = appendNumber(out, r.Tries)
	out = appendNumber(appendNumber(out, nanoseconds(r.Started)), r.Elapsed)
	out = appendText(out, r.Reason)
	var err error
	if r.Change != nil {
		if out, err = appendChange(out, r.Change); err != nil {
			return before, err
		}
	}
	if r.Failure != nil {
		out = binary.AppendUvarint(out, flags(r.Failure.Deterministic))
		out = appendText(appendText(out, r.Failure.Message), r.Failure.Detail)
	}
	if out, err = appendJSON(out, r.Output, len(r.Output) > 0); err != nil {
		return before, err
	}
	return out, nil
}

func appendChange(out []byte, c *engine.Change) ([]byte, error) {
	out = binary.AppendUvarint(out, flags(c.Needed, c.Wait))
	out = binary.AppendUvarint(out, uint64(len(c.Effects)))
	for i := range c.Effects {
		e := &c.Effects[i]
		out = binary.AppendUvarint(out, flags(e.Secret, e.Redacted))
		out = appendText(appendText(appendText(appendText(appendText(out, e.Kind), e.Target), e.Action), e.Reason), e.Diff)
	}
	out = appendText(out, c.MissingDir)
	return appendJSON(out, c.Output, len(c.Output) > 0)
}

// nanoseconds returns a time as Unix nanoseconds, 0 for none.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// MaxWeight is the limit of the estimated memory of the results of one message, in
// bytes: eight times the JSON of the largest output. The outputs of most steps take
// some hundred bytes.
const MaxWeight = 64 << 20

// effectWeight is the memory of an effect in bytes beside its texts, doubled because
// a slice grows by doubling.
const effectWeight = 160

// ReadResults calls on for each result in data, with its Weight set. A message that
// would take more than MaxWeight is an error before the memory is allocated. An
// error of on ends the reading and is returned.
func ReadResults(data []byte, on func(engine.Result) error) error {
	r := newReader(data)
	r.maxWeight = MaxWeight
	for r.more() {
		at, weight := r.offset, r.weight
		result := r.result()
		if r.err != nil {
			return r.err
		}
		result.Weight = r.offset - at + r.weight - weight
		if err := on(result); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) result() engine.Result {
	out := engine.Result{Step: r.string(), Status: engine.Status(r.string())}
	set := r.flags()
	out.Ignored, out.Secret = set&1 != 0, set&2 != 0
	out.Tries = int(r.number())
	if at := r.number(); at != 0 {
		out.Started = time.Unix(0, at).UTC()
	}
	out.Elapsed, out.Reason = time.Duration(r.number()), r.string()
	if set&4 != 0 {
		out.Change = r.change()
	}
	if set&8 != 0 {
		out.Failure = &engine.Failure{Deterministic: r.flags()&1 != 0, Message: r.string(), Detail: r.string()}
	}
	r.json(&out.Output)
	return out
}

func (r *reader) change() *engine.Change {
	set := r.flags()
	c := &engine.Change{Needed: set&1 != 0, Wait: set&2 != 0}
	for range r.count() {
		if r.err != nil || !r.reserve(effectWeight) {
			break
		}
		set := r.flags()
		c.Effects = append(c.Effects, engine.Effect{Secret: set&1 != 0, Redacted: set&2 != 0,
			Kind: engine.EffectKind(r.string()), Target: r.string(), Action: r.string(), Reason: r.string(), Diff: r.string()})
	}
	c.MissingDir = r.string()
	r.json(&c.Output)
	return c
}
