package history

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/protocol"
	"deployer/engine/record"
	"deployer/project"
)

// copyOf is the record of a run on one host.
type copyOf struct {
	*keeper
	data    []byte
	content *record.Content
	path    string
}

// readWhole reads the largest copies of a run, and writes the log of the longest. It returns
// the keeper of that copy; nil when no copy is valid. The error says that copies contradict
// each other; a copy that is not valid is left out.
func (h *History) readWhole(ctx context.Context, e *Entry, run string, keepers []*keeper) (*keeper, error) {
	var copies []*copyOf
	for i, k := range keepers[:min(len(keepers), maxCopies)] {
		data, err := k.read(ctx, run, 0, record.MaxSize)
		if err != nil {
			h.Failed[k.host] = fmt.Errorf("reading the record of run %s: %w", run, err)
			continue
		}
		c := &copyOf{keeper: k, data: data, path: fmt.Sprintf("%s.%d", e.Path, i)}
		if c.content, err = h.writeLog(ctx, k, c.path, run, data); err != nil {
			h.Failed[k.host] = fmt.Errorf("the record of run %s is not valid: %w", run, err)
			continue
		}
		copies = append(copies, c)
	}
	best, err := longest(run, copies)
	for _, c := range copies {
		if c != best {
			_ = os.Remove(c.path) // Close removes it otherwise
		}
	}
	if best == nil || err != nil {
		return nil, err
	}
	if best.content.Damaged != nil {
		h.Failed[best.host] = fmt.Errorf("the record of run %s is damaged, and its end is missing: %w", run, best.content.Damaged)
	}
	if best.content.Plan != nil {
		e.PlanFile = e.Path + ".plan"
		if err := os.WriteFile(e.PlanFile, best.content.Plan, 0o600); err != nil {
			return nil, err
		}
	}
	return best.keeper, os.Rename(best.path, e.Path)
}

// longest returns the copy with the most valid bytes. Copies may end at different places;
// it is an error when one is not the beginning of the other.
func longest(run string, copies []*copyOf) (*copyOf, error) {
	var best *copyOf
	for _, c := range copies {
		if best == nil || c.content.Size > best.content.Size {
			best = c
		}
	}
	for _, c := range copies {
		if n := c.content.Size; !bytes.Equal(c.data[:n], best.data[:n]) {
			return nil, fmt.Errorf("%s and %s have records of run %s that contradict each other: one of them was changed; examine them, and name the host to trust with --from-hosts=%s",
				best.host, c.host, run, best.host)
		}
	}
	return best, nil
}

// readBrief writes a log with the header and the outcome of a run, or its whole log when
// it has no outcome, and returns the keeper that had it; nil for none.
func (h *History) readBrief(ctx context.Context, e *Entry, run string, keepers []*keeper) *keeper {
	for _, k := range keepers {
		err := h.readBriefFrom(ctx, k, e, run)
		if err == nil {
			return k
		}
		h.Failed[k.host] = fmt.Errorf("reading the record of run %s: %w", run, err)
	}
	return nil
}

// briefSize is the size in bytes of a record from which on only parts of it are read.
const briefSize = 2 * protocol.RecordPart

func (h *History) readBriefFrom(ctx context.Context, k *keeper, e *Entry, run string) error {
	if size := k.sizes[run]; size > briefSize {
		tail, err := k.read(ctx, run, size-protocol.RecordPart, protocol.RecordPart)
		if err != nil {
			return err
		}
		if outcome, err := record.Outcome(ctx, run, tail); err == nil && outcome != nil {
			header, err := k.header(ctx, run)
			if err != nil {
				return err
			}
			e.Brief = true
			text := fmt.Appendf(header, "\n%s\n", outcome)
			if err := errors.Join(k.left.take(int64(len(text)), 0), h.left.take(int64(len(text)), 0)); err != nil {
				return err
			}
			return os.WriteFile(e.Path, text, 0o600)
		}
	}
	data, err := k.read(ctx, run, 0, record.MaxSize)
	if err == nil {
		_, err = h.writeLog(ctx, k, e.Path, run, data)
	}
	return err
}

// header returns the line of the header of a record, behind which a plan may stand.
func (k *keeper) header(ctx context.Context, run string) (line []byte, err error) {
	for limit := protocol.RecordPart; ; limit *= 4 {
		data, err := k.read(ctx, run, 0, limit)
		if err != nil {
			return nil, err
		}
		_, err = record.Decode(ctx, run, data, func(h *journal.Header, _ *engine.Event, text []byte) error {
			if h != nil {
				line = bytes.Clone(text)
			}
			return errEnough
		})
		if errors.Is(err, errEnough) {
			return line, nil
		}
		if len(data) < limit || limit >= record.MaxSize {
			return nil, err
		}
	}
}

var errEnough = errors.New("the header was read")

// read returns a record from offset on, at most limit bytes.
func (k *keeper) read(ctx context.Context, run string, offset int64, limit int) (out []byte, err error) {
	err = k.timed(ctx, readLimit, "sending the record", func(ctx context.Context) error {
		for len(out) < limit {
			part, _, err := k.session.ReadRecord(ctx, run, offset+int64(len(out)))
			if err != nil {
				return err
			}
			if len(part) == 0 {
				break
			}
			out = append(out, part...)
		}
		return nil
	})
	return out[:min(len(out), limit)], err
}

// writeLog writes a record of a keeper as a journal.
func (h *History) writeLog(ctx context.Context, k *keeper, path, run string, data []byte) (content *record.Content, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriter(f)
	err = k.timed(ctx, decodeLimit, "decoding the record", func(ctx context.Context) error {
		content, err = record.Decode(ctx, run, data, func(_ *journal.Header, _ *engine.Event, line []byte) error {
			size := int64(len(line)) + 1
			if err := errors.Join(k.left.take(size, 0), h.left.take(size, 0)); err != nil {
				return err
			}
			_, _ = out.Write(line) // Flush returns the error
			return out.WriteByte('\n')
		})
		return err
	})
	if err == nil {
		err = out.Flush()
	}
	return content, errors.Join(err, f.Close())
}

// RequirePlaybook returns an error when the run of a host's record is one of a playbook
// and none is given, or when the given one has another name.
func (e *Entry) RequirePlaybook(given string, verb string) error {
	recorded := e.Header.Invocation.Playbook
	base := func(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
	switch {
	case recorded == "" && given != "" && e.Header.Invocation.Verb != journal.VerbRevert:
		return project.AsUserError(fmt.Errorf("%s, of a playbook of deployer's own; leave --playbook out", Origin(e)))
	case recorded == "" || base(recorded) == base(given):
		return nil
	case given == "":
		return project.AsUserError(fmt.Errorf("%s; name this playbook on this machine: deployer %s %s --playbook FILE", Origin(e), verb, e.Header.Run))
	}
	return project.AsUserError(fmt.Errorf("%s, and --playbook is %s: name the same playbook", Origin(e), project.Relative(given)))
}
