package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/engine/journal"
	"deployer/internal/tempdir"
	"deployer/project"
)

// History has the logs of runs.
type History struct {
	dir     string       // of this machine's logs
	temp    *tempdir.Dir // of fetched logs; nil before Fetch
	fetched map[string]*Entry
	left    budget // of all fetched logs
	// Asked are the hosts that were asked for records, Failed those of them that gave none,
	// with the reason.
	Asked  []string
	Failed map[string]error
}

// Local returns the logs of this machine. Its errors are those of journal.Dir.
func Local() (*History, error) {
	dir, err := journal.Dir()
	if err != nil {
		return nil, err
	}
	return &History{dir: dir}, nil
}

// Close removes the fetched logs.
func (h *History) Close() {
	if h.temp != nil {
		_ = h.temp.Remove()
	}
}

// List returns all runs, newest first; see journal.List. A run of this machine that hosts
// know as well has one entry, with the log of this machine.
func (h *History) List() ([]*Entry, error) {
	local, err := journal.List(h.dir)
	byRun := maps.Clone(h.fetched)
	if byRun == nil {
		byRun = map[string]*Entry{}
	}
	for _, r := range local {
		e := &Entry{Record: r, Path: journal.Path(h.dir, r.Header.Run), Here: true}
		if known := byRun[r.Header.Run]; known != nil {
			e.Keepers, e.PlanFile = known.Keepers, known.PlanFile
		}
		byRun[r.Header.Run] = e
	}
	all := slices.Collect(maps.Values(byRun))
	slices.SortFunc(all, func(a, b *Entry) int { return a.Header.CompareNewest(b.Header) })
	return all, err
}

// Find returns the run with an id, or with a unique prefix of one, whose log is then read
// whole.
func (h *History) Find(name string) (*Entry, error) {
	if len(h.fetched) == 0 {
		r, err := journal.Find(h.dir, name)
		if err != nil {
			return nil, err
		}
		return &Entry{Record: r, Path: journal.Path(h.dir, r.Header.Run), Here: true}, nil
	}
	all, err := h.List()
	e, found := match(all, name)
	if found != nil {
		return nil, found
	}
	if e == nil {
		return nil, errors.Join(fmt.Errorf("there is no run %q in %s, and none on %s%s", name, h.dir, strings.Join(h.Asked, ", "), h.failures()), err)
	}
	if e.Here {
		e.Record, err = journal.Read(e.Path)
		return e, err
	}
	if e.Conflict != nil {
		return nil, project.AsUserError(e.Conflict)
	}
	return e, nil
}

// match returns the run with an id or a unique prefix of one; nil for none.
func match(all []*Entry, name string) (*Entry, error) {
	var found []*Entry
	for _, e := range all {
		if e.Header.Run == name {
			return e, nil
		}
		if strings.HasPrefix(e.Header.Run, name) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("run id %q is ambiguous: %d runs begin with it, such as %s and %s", name, len(found), found[0].Header.Run, found[1].Header.Run)
}

// Match returns the ids of the runs that a name selects for [FetchOptions.Whole]: one or
// none.
func Match(all []*Entry, name string) []string {
	if e, err := match(all, name); e != nil && err == nil {
		return []string{e.Header.Run}
	}
	return nil
}

// failures returns the hosts that gave no records, for messages.
func (h *History) failures() string {
	var out []string
	for _, host := range slices.Sorted(maps.Keys(h.Failed)) {
		out = append(out, fmt.Sprintf("%s: %v", host, h.Failed[host]))
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, "; ") + ")"
}

// Chain returns a run and the runs that it resumed, the newest first; nil for an empty
// id. A log that cannot be read ends the chain.
func (h *History) Chain(run string) []string {
	all, _ := h.List()
	return Follow(all, run, func(h journal.Header) string { return h.Resumes })
}
