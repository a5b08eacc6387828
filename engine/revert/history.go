package revert

import (
	"strings"

	"deployer/engine"
	"deployer/engine/playbook"
)

// history are what hosts know of the run, by task of the program.
type history struct {
	// all is true when nothing is known: then every task may have changed
	// something everywhere.
	all   bool
	items map[string]map[string][]engine.PastItem // task -> host -> items
	// unattributed are the hosts on which a step has changed something that no task
	// of the program stands for.
	unattributed map[string]bool
	hosts        map[string]bool            // on which anything was changed
	ran          map[string]map[string]bool // task -> hosts that have carried it out
}

func historyOf(prog *playbook.Program, past map[string]engine.Past) *history {
	t := &history{all: past == nil, items: map[string]map[string][]engine.PastItem{}, unattributed: map[string]bool{}, hosts: map[string]bool{}, ran: map[string]map[string]bool{}}
	ids := map[string]bool{}
	for _, task := range prog.Tasks {
		ids[task.ID] = true
	}
	for _, p := range prog.Plays {
		for _, h := range p.Handlers {
			ids[h.ID] = true
		}
	}
	for host, known := range past {
		for _, step := range known.Ran {
			id := taskOf(step, ids)
			if t.ran[id] == nil {
				t.ran[id] = map[string]bool{}
			}
			t.ran[id][host] = true
		}
		for _, item := range known.Items {
			t.hosts[host] = true
			for _, step := range item.Steps {
				id := taskOf(step, ids)
				if id == "" {
					t.unattributed[host] = true
					continue
				}
				if t.items[id] == nil {
					t.items[id] = map[string][]engine.PastItem{}
				}
				t.items[id][host] = append(t.items[id][host], item)
			}
		}
	}
	return t
}

// taskOf is the task that a step was of, as its id says; empty for none of the
// program. Steps that one host has carried out for another count as none: they
// are not where the task's own hosts are.
func taskOf(step string, ids map[string]bool) string {
	if ids[step] {
		return step
	}
	if strings.Contains(step, "/") {
		return ""
	}
	if i := strings.IndexAny(step, "#@"); i >= 0 {
		step = step[:i]
	}
	if ids[step] {
		return step
	}
	if i := strings.LastIndexByte(step, '.'); i >= 0 && ids[step[:i]] {
		return step[:i] // a module that an action ran
	}
	return ""
}

// hostsWith are the hosts on which a task has changed something that test accepts; nil
// for all.
func (t *history) hostsWith(task string, test func(engine.PastItem) bool) map[string]bool {
	if t.all {
		return nil
	}
	out := map[string]bool{}
	for host, items := range t.items[task] {
		for _, item := range items {
			if test(item) {
				out[host] = true
			}
		}
	}
	return out
}

func early(i engine.PastItem) bool { return !i.Late }

func late(i engine.PastItem) bool { return i.Late }

// changedHosts are the hosts on which the run has changed something that was there
// before, in a part: only there is something to wait for when it is back.
func (t *history) changedHosts(p *section) map[string]bool {
	if t.all {
		return nil
	}
	byHost := map[string][]engine.PastItem{}
	for _, task := range p.tasks() {
		for host, items := range t.items[task.ID] {
			byHost[host] = append(byHost[host], items...)
		}
	}
	out := map[string]bool{}
	for host, items := range byHost {
		if !isNew(items) {
			out[host] = true
		}
	}
	return out
}

// isNew tells that the run has brought something into being, or to life. What
// is lost stays as the run left it, and tells nothing.
func isNew(items []engine.PastItem) bool {
	all := true
	for _, i := range items {
		if i.Fate == engine.Lost {
			continue
		}
		if i.Started || i.Made && (i.Effect == engine.EffectUnit || i.Effect == engine.EffectPackage) {
			return true
		}
		all = all && i.Made
	}
	return all
}
