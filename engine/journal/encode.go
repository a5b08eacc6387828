package journal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"deployer/engine"
	"deployer/engine/jsonline"
)

// A run on a thousand hosts has hundreds of thousands of lines, nearly all of
// them ends of steps. These are written here, without reflection, and byte for
// byte as encoding/json would; what is rare is left to that.

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
	out = append(jsonline.AppendTime(append(out, `{"time":`...), e.Time), `,"type":`...)
	out = jsonline.AppendString(out, string(e.Type))
	out = jsonline.AppendField(out, "host", e.Host)
	out = jsonline.AppendField(out, "step", e.Step)
	out = jsonline.AppendField(out, "name", e.Name)
	out = jsonline.AppendField(out, "role", e.Role)
	out = jsonline.AppendField(out, "text", e.Text)
	if e.Result != nil {
		out = appendResult(append(out, `,"result":{`...), e.Result)
	}
	out = jsonline.AppendNumber(out, "bytes", e.Bytes)
	out = jsonline.AppendNumber(out, "total", e.Total)
	return append(out, "}}\n"...), nil
}

func appendResult(out []byte, r *engine.Result) []byte {
	begin := len(out)
	out = jsonline.AppendField(out, "host", r.Host)
	out = jsonline.AppendField(out, "step", r.Step)
	out = jsonline.AppendField(out, "name", r.Name)
	out = jsonline.AppendField(out, "delegate", r.Delegate)
	out = jsonline.AppendString(append(out, `,"status":`...), string(r.Status))
	if r.Change != nil {
		out = appendChange(append(out, `,"change":{`...), r.Change)
	}
	if r.Failure != nil {
		out = jsonline.AppendString(append(out, `,"failure":{"message":`...), r.Failure.Message)
		out = jsonline.AppendField(out, "detail", r.Failure.Detail)
		out = append(jsonline.AppendTrue(out, "certain", r.Failure.Certain), '}')
	}
	out = jsonline.AppendTrue(out, "ignored", r.Ignored)
	out = jsonline.AppendTrue(out, "for_all", r.ForAll)
	out = jsonline.AppendField(out, "unknown", r.Unknown)
	out = jsonline.AppendNumber(out, "at_once", r.AtOnce)
	out = jsonline.AppendField(out, "reason", r.Reason)
	out = jsonline.AppendNumber(out, "tries", r.Tries)
	out = jsonline.AppendTime(append(out, `,"started":`...), r.Started)
	out = strconv.AppendInt(append(out, `,"elapsed":`...), int64(r.Elapsed), 10)
	out = jsonline.AppendTrue(out, "secret", r.Secret)
	return append(slices.Delete(out, begin, begin+1), '}') // the first comma
}

func appendChange(out []byte, c *engine.Change) []byte {
	begin := len(out)
	out = jsonline.AppendTrue(out, "needed", c.Needed)
	out = jsonline.AppendTrue(out, "wait", c.Wait)
	if len(c.Effects) > 0 {
		out = append(out, `,"effects":[`...)
		for i := range c.Effects {
			e := &c.Effects[i]
			out = jsonline.AppendString(append(out, `{"kind":`...), string(e.Kind))
			out = jsonline.AppendString(append(out, `,"target":`...), e.Target)
			out = jsonline.AppendString(append(out, `,"action":`...), e.Action)
			out = jsonline.AppendField(out, "diff", e.Diff)
			out = jsonline.AppendTrue(out, "secret", e.Secret)
			out = append(jsonline.AppendTrue(out, "redacted", e.Redacted), `},`...)
		}
		out[len(out)-1] = ']'
	}
	out = jsonline.AppendField(out, "lacks", c.Lacks)
	if len(out) > begin {
		out = slices.Delete(out, begin, begin+1)
	}
	return append(out, '}')
}

// plainJSON is a value as JSON without the escapes that HTML needs.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}
