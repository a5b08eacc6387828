package main

import (
	"slices"
	"strings"

	"deployer/runs"
	"deployer/runs/target"
	"deployer/shellquote"
)

// rerunHint returns the command that continues a run, for users to type. Terminals and
// CI systems log it, so it contains no values of variables that look like secrets.
func (o runOptions) rerunHint(r *runs.Run) string {
	var out []string
	switch {
	case r.HasLog():
		out = []string{runs.ResumeCommand(r.ID(), r.RecordedInvocation().ToGive())}
	case r.PlanFile() != "":
		out = append([]string{"deployer", "apply", shellquote.Word(r.PlanFile())}, o.variableWords(r.RecordedInvocation().Withheld)...)
	default:
		out = o.invocationWords(r)
	}
	return strings.Join(append(out, promptWords(r.Prompt)...), " ")
}

// commandWords returns the command of a verb: etcd-defrag is that of deployer etcd defrag.
func commandWords(verb string) []string {
	for _, group := range []string{"certs", "etcd"} {
		if name, ok := strings.CutPrefix(verb, group+"-"); ok {
			return []string{group, name}
		}
	}
	return []string{verb}
}

// invocationWords returns the command of a deployer run or install as it was typed.
func (o runOptions) invocationWords(r *runs.Run) []string {
	out := append([]string{"deployer"}, commandWords(r.Verb)...)
	add := func(words ...string) {
		if value := words[len(words)-1]; value != "" {
			out = append(append(out, words[:len(words)-1]...), shellquote.Word(value))
		}
	}
	add(r.Playbook)
	add("-i", r.Inventory)
	if r.Check {
		add("--check")
	}
	add("--limit", r.Limit)
	add("--tags", strings.Join(r.Tags, ","))
	add("--skip-tags", strings.Join(r.SkipTags, ","))
	add("--start-at", r.StartAt)
	return append(out, o.variableWords(r.RecordedInvocation().Withheld)...)
}

// variableWords returns the -e flags without the values of withheld variables. When a
// variable is withheld, a mapping is printed as {...}, as it may contain that variable.
func (o runOptions) variableWords(withheld []string) []string {
	var out []string
	for _, v := range o.variables {
		name, _, given := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(v, "@"):
		case strings.HasPrefix(strings.TrimSpace(v), "{"):
			if len(withheld) > 0 {
				v = "{...}"
			}
		case given && slices.Contains(withheld, name):
			v = name + "=..."
		}
		out = append(out, "-e", shellquote.Word(v))
	}
	return out
}

// promptWords returns the flags of promptFlags as they were typed.
func promptWords(a target.PromptFlags) []string {
	var out []string
	if a.Login {
		out = append(out, "-k")
	}
	if a.Become {
		out = append(out, "-K")
	}
	return out
}
