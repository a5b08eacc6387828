package revert

import (
	"maps"
	"strings"

	"deployer/engine"
	"deployer/engine/program"
)

// history has the records of hosts about the run, by task of the program.
type history struct {
	// all is true without knowledge: every task may have changed something on every
	// host.
	all   bool
	items map[string]map[string][]engine.ChangeRecord // task -> host -> items
	// unattributed are the hosts with a change that no task of the program stands
	// for.
	unattributed map[string]bool
	hosts        map[string]bool            // hosts with any change
	ran          map[string]map[string]bool // task -> hosts that have executed it
	due          map[string]map[string]bool // rollout -> hosts on which its post_tasks are due
}

func historyOf(prog *program.Program, past map[string]engine.RunHistory) *history {
	t := &history{all: past == nil, items: map[string]map[string][]engine.ChangeRecord{}, unattributed: map[string]bool{}, hosts: map[string]bool{}, ran: map[string]map[string]bool{}, due: map[string]map[string]bool{}}
	rollouts := map[string]bool{}
	for _, op := range prog.Ops {
		if op.Kind == program.OpBlock && op.Block.HasHooks() {
			rollouts[op.Block.Rollout.Name] = true
		}
	}
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
		for _, name := range known.Pending {
			if !rollouts[name] {
				continue
			}
			if t.due[name] == nil {
				t.due[name] = map[string]bool{}
			}
			t.due[name][host] = true
		}
		for _, step := range known.Executed {
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
					t.items[id] = map[string][]engine.ChangeRecord{}
				}
				t.items[id][host] = append(t.items[id][host], item)
			}
		}
	}
	return t
}

// dueHosts returns the hosts on which post_tasks of the program are due.
func (t *history) dueHosts() map[string]bool {
	out := map[string]bool{}
	for _, hosts := range t.due {
		maps.Copy(out, hosts)
	}
	return out
}

// taskOf returns the task of a step by the step's id; "" for none of the program. A
// step that a host has executed for another host counts as none, because it is not
// on the task's own host.
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

// hostsWith returns the hosts on which a task has a change that test accepts; nil
// for all.
func (t *history) hostsWith(task string, test func(engine.ChangeRecord) bool) map[string]bool {
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

func early(i engine.ChangeRecord) bool { return !i.NeedsFilesFirst || i.BeforeFiles }

func needsFilesFirst(i engine.ChangeRecord) bool { return i.NeedsFilesFirst }

// changedHosts returns the hosts on which the section has changed something that
// existed before: only there is something to wait for after the restore.
func (t *history) changedHosts(p *section) map[string]bool {
	if t.all {
		return nil
	}
	byHost := map[string][]engine.ChangeRecord{}
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

// isNew reports whether the run has created or started the resources. Irreversible
// changes stay as the run left them, and do not count.
func isNew(items []engine.ChangeRecord) bool {
	all := true
	for _, i := range items {
		if i.State == engine.RevertLost {
			continue
		}
		if i.Started || i.Created && (i.Effect == engine.EffectUnit || i.Effect == engine.EffectPackage) {
			return true
		}
		all = all && i.Created
	}
	return all
}
