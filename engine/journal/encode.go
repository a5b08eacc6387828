package journal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"deployer/engine"
	"deployer/engine/jsonappend"
)

// A run on a thousand hosts has hundreds of thousands of lines, nearly all of them ends
// of steps. This file encodes them without reflection, byte for byte like encoding/json,
// which encodes the other lines.

// appendLine appends the line of an event.
func appendLine(out []byte, e *engine.Event) ([]byte, error) {
	out = append(out, `{"event":`...)
	if e.Report != nil || e.Result != nil && (len(e.Result.Output) > 0 || e.Result.Change != nil && len(e.Result.Change.Output) > 0) {
		raw, err := plainJSON(e)
		if err != nil {
			return nil, err
		}
		return append(append(out, raw...), "}\n"...), nil
	}
	out = append(jsonappend.AppendTime(append(out, `{"time":`...), e.Time), `,"type":`...)
	out = jsonappend.AppendString(out, string(e.Type))
	out = jsonappend.AppendField(out, "host", e.Host)
	out = jsonappend.AppendField(out, "step", e.Step)
	out = jsonappend.AppendField(out, "name", e.Name)
	out = jsonappend.AppendField(out, "role", e.Role)
	out = jsonappend.AppendField(out, "text", e.Text)
	if e.Result != nil {
		out = appendResult(append(out, `,"result":{`...), e.Result)
	}
	out = jsonappend.AppendNumber(out, "bytes", e.Bytes)
	out = jsonappend.AppendNumber(out, "total", e.Total)
	return append(out, "}}\n"...), nil
}

func appendResult(out []byte, r *engine.Result) []byte {
	begin := len(out)
	out = jsonappend.AppendField(out, "host", r.Host)
	out = jsonappend.AppendField(out, "step", r.Step)
	out = jsonappend.AppendField(out, "name", r.Name)
	out = jsonappend.AppendField(out, "delegate", r.Delegate)
	out = jsonappend.AppendString(append(out, `,"status":`...), string(r.Status))
	if r.Change != nil {
		out = appendChange(append(out, `,"change":{`...), r.Change)
	}
	if r.Failure != nil {
		out = jsonappend.AppendString(append(out, `,"failure":{"message":`...), r.Failure.Message)
		out = jsonappend.AppendField(out, "detail", r.Failure.Detail)
		out = append(jsonappend.AppendTrue(out, "certain", r.Failure.Deterministic), '}')
	}
	out = jsonappend.AppendTrue(out, "ignored", r.Ignored)
	out = jsonappend.AppendTrue(out, "for_all", r.RunOnce)
	out = jsonappend.AppendField(out, "unknown", r.Unknown)
	out = jsonappend.AppendNumber(out, "at_once", r.MaxParallel)
	out = jsonappend.AppendField(out, "reason", r.Reason)
	out = jsonappend.AppendNumber(out, "tries", r.Tries)
	out = jsonappend.AppendTime(append(out, `,"started":`...), r.Started)
	out = strconv.AppendInt(append(out, `,"elapsed":`...), int64(r.Elapsed), 10)
	out = jsonappend.AppendTrue(out, "secret", r.Secret)
	return append(slices.Delete(out, begin, begin+1), '}') // the first comma
}

func appendChange(out []byte, c *engine.Change) []byte {
	begin := len(out)
	out = jsonappend.AppendTrue(out, "needed", c.Needed)
	out = jsonappend.AppendTrue(out, "wait", c.Wait)
	if len(c.Effects) > 0 {
		out = append(out, `,"effects":[`...)
		for i := range c.Effects {
			e := &c.Effects[i]
			out = jsonappend.AppendString(append(out, `{"kind":`...), string(e.Kind))
			out = jsonappend.AppendString(append(out, `,"target":`...), e.Target)
			out = jsonappend.AppendString(append(out, `,"action":`...), e.Action)
			out = jsonappend.AppendField(out, "reason", e.Reason)
			out = jsonappend.AppendField(out, "diff", e.Diff)
			out = jsonappend.AppendTrue(out, "secret", e.Secret)
			out = append(jsonappend.AppendTrue(out, "redacted", e.Redacted), `},`...)
		}
		out[len(out)-1] = ']'
	}
	out = jsonappend.AppendField(out, "lacks", c.MissingDir)
	if len(out) > begin {
		out = slices.Delete(out, begin, begin+1)
	}
	return append(out, '}')
}

// plainJSON returns the JSON of a value without HTML escapes.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}
