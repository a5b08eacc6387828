package journal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"deployer/engine"
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
	out = append(appendTime(append(out, `{"time":`...), e.Time), `,"type":`...)
	out = appendString(out, string(e.Type))
	out = appendField(out, "host", e.Host)
	out = appendField(out, "step", e.Step)
	out = appendField(out, "name", e.Name)
	out = appendField(out, "role", e.Role)
	out = appendField(out, "text", e.Text)
	if e.Result != nil {
		out = appendResult(append(out, `,"result":{`...), e.Result)
	}
	out = appendNumber(out, "bytes", e.Bytes)
	out = appendNumber(out, "total", e.Total)
	return append(out, "}}\n"...), nil
}

func appendResult(out []byte, r *engine.Result) []byte {
	begin := len(out)
	out = appendField(out, "host", r.Host)
	out = appendField(out, "step", r.Step)
	out = appendField(out, "name", r.Name)
	out = appendField(out, "delegate", r.Delegate)
	out = appendString(append(out, `,"status":`...), string(r.Status))
	if r.Change != nil {
		out = appendChange(append(out, `,"change":{`...), r.Change)
	}
	if r.Failure != nil {
		out = appendString(append(out, `,"failure":{"message":`...), r.Failure.Message)
		out = appendField(out, "detail", r.Failure.Detail)
		out = append(appendTrue(out, "certain", r.Failure.Certain), '}')
	}
	out = appendTrue(out, "ignored", r.Ignored)
	out = appendTrue(out, "for_all", r.ForAll)
	out = appendField(out, "unknown", r.Unknown)
	out = appendNumber(out, "at_once", r.AtOnce)
	out = appendField(out, "reason", r.Reason)
	out = appendNumber(out, "tries", r.Tries)
	out = appendTime(append(out, `,"started":`...), r.Started)
	out = strconv.AppendInt(append(out, `,"elapsed":`...), int64(r.Elapsed), 10)
	out = appendTrue(out, "secret", r.Secret)
	return append(slices.Delete(out, begin, begin+1), '}') // the first comma
}

func appendChange(out []byte, c *engine.Change) []byte {
	begin := len(out)
	out = appendTrue(out, "needed", c.Needed)
	out = appendTrue(out, "wait", c.Wait)
	if len(c.Effects) > 0 {
		out = append(out, `,"effects":[`...)
		for i := range c.Effects {
			e := &c.Effects[i]
			out = appendString(append(out, `{"kind":`...), string(e.Kind))
			out = appendString(append(out, `,"target":`...), e.Target)
			out = appendString(append(out, `,"action":`...), e.Action)
			out = appendField(out, "diff", e.Diff)
			out = appendTrue(out, "secret", e.Secret)
			out = append(appendTrue(out, "redacted", e.Redacted), `},`...)
		}
		out[len(out)-1] = ']'
	}
	if len(out) > begin {
		out = slices.Delete(out, begin, begin+1)
	}
	return append(out, '}')
}

// appendField appends a text unless it is empty.
func appendField(out []byte, name, s string) []byte {
	if s == "" {
		return out
	}
	return appendString(appendName(out, name), s)
}

func appendNumber[T int | int64](out []byte, name string, n T) []byte {
	if n == 0 {
		return out
	}
	return strconv.AppendInt(appendName(out, name), int64(n), 10)
}

func appendTrue(out []byte, name string, is bool) []byte {
	if !is {
		return out
	}
	return append(appendName(out, name), "true"...)
}

func appendName(out []byte, name string) []byte {
	return append(append(append(out, `,"`...), name...), `":`...)
}

// appendTime appends a time of a year that has four digits, as those of clocks
// have.
func appendTime(out []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(out, '"'), time.RFC3339Nano), '"')
}

const hex = "0123456789abcdef"

// appendString appends a text in quotes.
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	begin := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		escape, size := escapeOf(s[i:])
		if escape != "" {
			out = append(append(out, s[begin:i]...), escape...)
			begin = i + size
		}
		i += size
	}
	return append(append(out, s[begin:]...), '"')
}

// escapeOf is what stands for the first character of s, empty for itself, and its
// length in bytes.
func escapeOf(s string) (string, int) {
	switch c := s[0]; {
	case c == '"' || c == '\\':
		return `\` + s[:1], 1
	case c == '\n':
		return `\n`, 1
	case c == '\t':
		return `\t`, 1
	case c == '\r':
		return `\r`, 1
	case c == '\b':
		return `\b`, 1
	case c == '\f':
		return `\f`, 1
	case c < ' ':
		return `\u00` + hex[c>>4:c>>4+1] + hex[c&15:c&15+1], 1
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size == 1:
		return `\ufffd`, 1
	case r == '\u2028' || r == '\u2029': // end a line in JavaScript
		return `\u202` + hex[r&15:r&15+1], size
	}
	return "", size
}

// plainJSON is a value as JSON without the escapes that HTML needs.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}
