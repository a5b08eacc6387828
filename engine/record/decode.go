package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/jsonappend"
	"deployer/engine/sanitize"
)

// Limits of what a record takes of its reader.
const (
	// maxText is the maximum size of an unpacked record in bytes. A run of 1000 hosts with
	// 300 steps each takes some 70 MiB.
	maxText = 256 << 20
	// maxWeight is the maximum memory of a decoded line in bytes, estimated before it is
	// decoded. The report of 10 000 hosts that all failed takes some 15 MiB.
	maxWeight = 32 << 20
	// lightLine is the size of a line in bytes up to which none takes maxWeight: a value takes
	// at most some 60 times its length.
	lightLine = 512 << 10
)

// Content is a decoded record.
type Content struct {
	// Plan is the file of the plan that the run applies; nil for none.
	Plan []byte
	// Size is the number of bytes up to the last whole chunk.
	Size int
	// Damaged is the reason why the rest of the record was not decoded; nil when all was.
	// A last chunk that is not whole yet is no damage.
	Damaged error
}

// Decode calls on with the header and each event of a record that a host has returned,
// and with the line of each: its journal's, with every text sanitized. Names and other texts
// of a row are one line; only details of failures, diffs and values of variables have more. An
// error of on ends the decoding and is returned, as is that of a record of another run, of an
// unknown format, or without a header. When ctx ends, its cause is returned.
func Decode(ctx context.Context, run string, data []byte, on func(*journal.Header, *engine.Event, []byte) error) (*Content, error) {
	chunks, err := cutFormat(data)
	if err != nil {
		return nil, err
	}
	d := &decoding{ctx: ctx, run: run, on: on, content: &Content{Size: len(data) - len(chunks)}}
	for len(chunks) > 0 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		lines, rest, err := nextChunk(chunks)
		if errors.Is(err, errTruncated) {
			break
		}
		if err == nil {
			err = d.lines(lines)
		}
		var stop *callbackError
		if errors.As(err, &stop) {
			return nil, stop.error
		}
		if err != nil {
			d.content.Damaged = err
			break
		}
		chunks = rest
		d.content.Size = len(data) - len(chunks)
	}
	if !d.begun {
		return nil, errors.Join(errors.New("the record has no header"), d.content.Damaged)
	}
	return d.content, nil
}

// Outcome returns the line of the end of the run in the last part of a record; nil when
// the run has not ended or the part is too small.
func Outcome(ctx context.Context, run string, tail []byte) ([]byte, error) {
	lines, err := lastChunk(tail)
	if errors.Is(err, errTruncated) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []byte
	d := &decoding{ctx: ctx, run: run, begun: true, content: &Content{}, on: func(_ *journal.Header, e *engine.Event, line []byte) error {
		if e != nil && e.Type == engine.EventRunEnd && e.Report != nil {
			out = bytes.Clone(line)
		}
		return nil
	}}
	err = d.lines(lines)
	var stop *callbackError
	switch {
	case errors.As(err, &stop):
		return nil, stop.error
	case err != nil:
		return nil, err
	}
	return out, nil
}

// decoding is the state of Decode.
type decoding struct {
	ctx     context.Context
	run     string
	on      func(*journal.Header, *engine.Event, []byte) error
	begun   bool // the header was there
	text    int  // bytes of lines so far
	content *Content
}

// callbackError wraps an error of the caller's function or context.
type callbackError struct{ error }

// lines decodes the lines of a chunk.
func (d *decoding) lines(lines []byte) error {
	if d.text += len(lines); d.text > maxText {
		return fmt.Errorf("the record has more than %d MiB of text", maxText>>20)
	}
	for len(lines) > 0 {
		line, rest, found := bytes.Cut(lines, []byte{'\n'})
		if !found {
			return errors.New("a line without its end")
		}
		lines = rest
		if d.ctx.Err() != nil {
			return &callbackError{context.Cause(d.ctx)}
		}
		if err := d.line(line); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoding) line(line []byte) error {
	if len(line) > lightLine {
		if weight := jsonappend.Weigh(line); weight > maxWeight {
			return fmt.Errorf("a line of %d KiB takes %d MiB of memory, and the limit is %d MiB", len(line)>>10, weight>>20, maxWeight>>20)
		}
	}
	if bytes.HasPrefix(line, []byte(`{"plan":`)) && d.begun && d.content.Plan == nil {
		var p planLine
		if err := json.Unmarshal(line, &p); err != nil {
			return fmt.Errorf("decoding the plan in the record: %w", err)
		}
		d.content.Plan = []byte(p.Plan)
		return nil
	}
	if !d.begun {
		if err := journal.KnownFormat("the header", line); err != nil {
			return err
		}
	}
	line, err := sanitizeLine(line)
	if err != nil {
		return err
	}
	h, e, err := journal.DecodeStrict(line)
	switch {
	case err != nil:
		return fmt.Errorf("decoding a line: %w", err)
	case (h != nil) == d.begun:
		return errors.New("the header of the record is not its first line")
	case h != nil && h.Run != d.run:
		return fmt.Errorf("the header of the record is that of run %q", h.Run)
	}
	d.begun = true
	if err := d.on(h, e, line); err != nil {
		return &callbackError{err}
	}
	return nil
}

// multiline reports whether the texts of a member of a line may have line ends. No other text
// has any: a name with one would print a row of its own.
func multiline(key string) bool { return key == "detail" || key == "diff" || key == "extra" }

// sanitizeLine returns a line of JSON with every text sanitized. Most lines have only
// plain ASCII and no escapes but those of quotes.
func sanitizeLine(line []byte) ([]byte, error) {
	if isPlain(line) {
		return line, nil
	}
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber() // nanoseconds are more than a float holds
	var v any
	if err := in.Decode(&v); err != nil {
		return nil, fmt.Errorf("decoding a line: %w", err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(sanitize.Lines(v, multiline))
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), err
}

// isPlain reports whether no text in a line of JSON can have a character that
// sanitize.Line removes.
func isPlain(line []byte) bool {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c < ' ' || c >= 0x7f:
			return false
		case c == '\\':
			i++
			if i < len(line) && line[i] != '"' && line[i] != '\\' && line[i] != '/' {
				return false
			}
		}
	}
	return true
}
