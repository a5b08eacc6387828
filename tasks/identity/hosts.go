package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/file"
)

// HostsEntry manages a line of /etc/hosts: the names have this address and no other.
// Other lines stay as they are.
type HostsEntry struct {
	Address string   `yaml:"address" rule:"address" required:"true" doc:"IPv4 or IPv6 address"`
	Names   []string `yaml:"names" rule:"host" required:"true" doc:"host names; the first is the canonical one"`
	State   string   `yaml:"state" rule:"in:present,absent" doc:"present or absent; default present"`
}

const hostsPath = "/etc/hosts"

// Valid implements engine.Validator.
func (h *HostsEntry) Valid() error {
	if _, err := netip.ParseAddr(h.Address); err != nil {
		return fmt.Errorf("address: %w", err)
	}
	if len(h.Names) == 0 {
		return errors.New("names is empty")
	}
	for _, n := range h.Names {
		if n == "" || strings.ContainsAny(n, " \t\n#") {
			return fmt.Errorf("%q is not a host name", n)
		}
	}
	if h.State != "" && h.State != "present" && h.State != "absent" {
		return fmt.Errorf("state is %q, want present or absent", h.State)
	}
	return nil
}

// settled reports whether one line has the address and all the names, and no other line
// has one of the names; spacing and further names do not matter.
func (h *HostsEntry) settled(content string) bool {
	lines := 0
	for line := range strings.Lines(content) {
		if _, touched := removeNames(line, h.Names); !touched {
			continue
		}
		lines++
		text, _, _ := strings.Cut(line, "#")
		fields := strings.Fields(text)
		for _, name := range h.Names {
			if fields[0] != h.Address || !slices.Contains(fields[1:], name) {
				return false
			}
		}
	}
	return lines == 1
}

// edit removes the names from every line, and puts a new line where the first of them
// stood, or at the end.
func (h *HostsEntry) edit(content string) string {
	own := h.Address + "\t" + strings.Join(h.Names, " ") + "\n"
	var b strings.Builder
	placed := h.State == "absent"
	for line := range strings.Lines(content) {
		rest, touched := removeNames(line, h.Names)
		if !touched {
			b.WriteString(line)
			continue
		}
		if !placed {
			placed = true
			b.WriteString(own)
		}
		b.WriteString(rest)
	}
	out := b.String()
	if !placed {
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		out += own
	}
	return out
}

// removeNames returns a line without some names, an empty text when no other name is left;
// touched is true when the line had one of them.
func removeNames(line string, names []string) (rest string, touched bool) {
	text, comment, hasComment := strings.Cut(strings.TrimRight(line, "\n"), "#")
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return line, false
	}
	kept := slices.DeleteFunc(slices.Clone(fields[1:]), func(n string) bool { return slices.Contains(names, n) })
	if len(kept) == len(fields)-1 {
		return line, false
	}
	if len(kept) == 0 {
		return "", true
	}
	rest = fields[0] + "\t" + strings.Join(kept, " ")
	if hasComment {
		rest += " #" + comment
	}
	return rest + "\n", true
}

func (h *HostsEntry) file(sys engine.System) (*file.File, bool, error) {
	data, err := os.ReadFile(sys.Path(hostsPath))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if h.State != "absent" && h.settled(string(data)) {
		return nil, false, nil
	}
	want := h.edit(string(data))
	return &file.File{Path: hostsPath, Content: new(want), Empty: want == "", Follow: true}, want != string(data), nil
}

// Check compares /etc/hosts.
func (h *HostsEntry) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := h.Valid(); err != nil {
		return engine.Change{}, err
	}
	f, differs, err := h.file(sys)
	if err != nil || !differs {
		return engine.Change{}, err
	}
	return f.Check(ctx, sys)
}

// Apply rewrites /etc/hosts.
func (h *HostsEntry) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	f, differs, err := h.file(sys)
	if err != nil || !differs {
		return nil, err
	}
	change, err := f.Check(ctx, sys)
	if err != nil || !change.Needed {
		return nil, err
	}
	return f.Apply(ctx, sys, change)
}
