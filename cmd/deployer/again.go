package main

import (
	"slices"
	"strings"

	"deployer/runs"
	"deployer/runs/target"
	"deployer/shellquote"
)

// again is the command that goes on with a run, for people to type. It ends up in
// logs of terminals and CI jobs, so it has no variables that look like secrets.
func (o runOptions) again(r *runs.Run) string {
	var out []string
	switch {
	case r.HasLog():
		out = []string{runs.ResumeCommand(r.ID(), r.RecordedInvocation().ToGive())}
	case r.PlanFile() != "":
		out = append([]string{"deployer", "apply", shellquote.Word(r.PlanFile())}, o.variableWords(r.RecordedInvocation().Withheld)...)
	default:
		out = o.callWords(r)
	}
	return strings.Join(append(out, askWords(r.Prompt)...), " ")
}

// callWords are a call of deployer run or install as it was typed.
func (o runOptions) callWords(r *runs.Run) []string {
	out := []string{"deployer", r.Verb}
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

// variableWords are the flags with variables, without the values of those that
// are withheld. A mapping that may have one of these is left out as a whole.
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

// askWords are the flags of askFlags as they were typed.
func askWords(a target.PromptFlags) []string {
	var out []string
	if a.Login {
		out = append(out, "-k")
	}
	if a.Become {
		out = append(out, "-K")
	}
	return out
}
