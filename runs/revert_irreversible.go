package runs

import (
	"fmt"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/view"
)

// irreversible lists the changes that cannot be reverted: lost backups, purged history,
// unreachable hosts, and steps without a backup.
func (r *Revert) irreversible(preview *RevertPreview) []Irreversible {
	unreachable := map[string]string{}
	for _, h := range preview.Report.Broken() {
		unreachable[h.Host] = h.Failure.Message
	}
	list := &irreversibleList{}
	for _, host := range preview.hosts {
		past, asked := preview.History[host]
		changed := r.log.changed[host]
		switch {
		case !asked:
			list.add(host, "all changes of the run on the host, which is unreachable ("+view.NormalizeHosts(host, unreachable[host])+"); "+r.whenBack(), len(changed) > 0 || len(r.log.hosts) == 0 || r.Invocation.Verb == journal.VerbUpgrade && r.mayHaveChanged(host))
			continue
		case !past.Known && len(changed) > 0:
			list.add(host, fmt.Sprintf("all changes of the run on the host (%d steps), which has no record of the run any more", len(changed)), true)
			continue
		}
		for _, item := range past.Items {
			if item.State == engine.RevertLost {
				list.add(host, item.Label()+": "+item.Reason, true)
			}
		}
		r.withoutBackup(host, preview.History, list)
	}
	return list.all
}

// withoutBackup lists the steps that changed something on a host without a backup. withoutBackup omits
// steps of pre_tasks and post_tasks, because the revert runs these tasks again, around its
// restores; but it lists a node that the run has left drained.
func (r *Revert) withoutBackup(host string, all map[string]engine.RunHistory, list *irreversibleList) {
	listed, repeated := map[string]bool{}, r.program.TasksAroundRollouts()
	for _, c := range r.log.changed[host] {
		if repeated[taskOf(c.step)] && !r.log.drained[c.drained] {
			listed[c.step] = true
			continue
		}
		if where, step := c.backupOf(host); !hasBackup(all[where], step) {
			list.add(host, c.String()+r.uncordonHint(c), false)
		}
		listed[c.step] = true
	}
	for _, step := range all[host].WithoutBackup {
		if action, _, ok := cutLast(step, "."); engine.IsRolloutRecord(step) || listed[step] || r.log.unchanged[host][step] || ok && listed[action] || repeated[taskOf(step)] {
			continue // the step of an action stands for the modules that it ran
		}
		if _, by, delegated := strings.Cut(step, "/"); delegated && len(r.log.changed[by]) > 0 {
			continue // listed for the host of the play
		}
		list.add(host, r.taskName(step), false)
	}
}

// uncordonHint returns the remedy for a node that the run has left drained.
func (r *Revert) uncordonHint(c changedStep) string {
	if !r.log.drained[c.drained] {
		return ""
	}
	return ": the node accepts no pods; run: kubectl uncordon " + c.drained
}

// hasBackup reports whether a host has a backup of a step.
func hasBackup(past engine.RunHistory, step string) bool {
	return slices.ContainsFunc(past.Items, func(i engine.ChangeRecord) bool { return slices.Contains(i.Steps, step) })
}

// taskName returns the name of a step's task.
func (r *Revert) taskName(step string) string {
	name := "step " + step
	for _, t := range r.program.Tasks {
		if t.ID == taskOf(step) {
			name = t.Name
		}
	}
	return name
}

// cutLast cuts text around the last instance of sep.
func cutLast(text, sep string) (before, after string, preview bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
