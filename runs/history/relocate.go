package history

import (
	"path/filepath"
	"strings"

	"deployer/engine/journal"
	"deployer/engine/plan"
)

// Relocate returns the header of a run of another machine with the paths of this one: the
// given inventory and playbook (absolute, the playbook empty for none) take the place of
// the recorded ones, and so do their directories in the paths of the other files. Paths
// are only compared with those that this machine has read; that of the plan is removed. Flags
// by which the lost machine locked less are dropped.
func Relocate(h journal.Header, inventory, playbook string) journal.Header {
	h.Invocation, h.Files = relocate(h.Invocation, h.Files, inventory, playbook)
	if h.Plan != nil {
		h.Plan = &journal.Plan{SHA256: h.Plan.SHA256}
	}
	return h
}

// RelocatePlan returns a plan of another machine with the paths of this one, as Relocate does
// for a header.
func RelocatePlan(p *plan.Plan, inventory, playbook string) *plan.Plan {
	out := *p
	out.Invocation, out.Files = relocate(p.Invocation, p.Files, inventory, playbook)
	return &out
}

func relocate(c journal.Invocation, files map[string]string, inventory, playbook string) (journal.Invocation, map[string]string) {
	moves := []move{{c.Inventory, inventory}, {c.Playbook, playbook}}
	c.Inventory, c.Playbook, c.LockHosts = inventory, playbook, false
	out := make(map[string]string, len(files))
	for path, digest := range files {
		out[relocated(path, moves)] = digest
	}
	return c, out
}

// move is a file that has another path on this machine.
type move struct{ from, to string }

// relocated returns the path of a file after moves: of the files themselves, of the
// directories that they are in, and of the nearest directory above from which on their
// paths are equal.
func relocated(path string, moves []move) string {
	for _, m := range moves {
		if path == m.from && m.to != "" {
			return m.to
		}
	}
	best, out := -1, path
	for _, m := range moves {
		if m.from == "" || m.to == "" {
			continue
		}
		from, to := filepath.Dir(m.from), filepath.Dir(m.to)
		for {
			if rest, below := strings.CutPrefix(path, strings.TrimSuffix(from, "/")+"/"); below && len(from) > best {
				best, out = len(from), filepath.Join(to, rest)
			}
			if filepath.Base(from) != filepath.Base(to) || from == filepath.Dir(from) || to == filepath.Dir(to) {
				break
			}
			from, to = filepath.Dir(from), filepath.Dir(to)
		}
	}
	return out
}
