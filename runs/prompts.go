package runs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"deployer/engine/playbook"
	"deployer/project"
	"deployer/runs/target"
)

// promptVars asks for the variables that plays ask for and nobody has given. The
// default stands for no answer, and for all where there is nobody to ask.
func (r *Run) promptVars() error {
	r.Prompted = nil // those of an earlier run are asked for again
	for _, p := range r.Program.Prompts {
		if _, given := r.Extra[p.Name]; given {
			continue
		}
		answer, err := r.promptVar(p)
		var nobody *target.NotInteractiveError
		switch {
		case errors.As(err, &nobody) && p.Default == "":
			return project.AsUserError(fmt.Errorf("%s: the play asks for %s, and %w; give it with -e %s=VALUE", p.Pos, p.Name, err, p.Name))
		case err != nil && nobody == nil:
			return err
		case answer == "":
			answer = p.Default
		}
		r.Extra, r.Prompted = mergeVars(r.Extra, map[string]any{p.Name: parseAnswer(p, answer)}), append(r.Prompted, p.Name)
	}
	return nil
}

// promptVar asks, twice where it is to be confirmed, until both are the same.
func (r *Run) promptVar(p playbook.Prompt) (string, error) {
	ask := r.controller.PromptVisible
	if p.Private {
		ask = r.controller.PromptSecret
	}
	if ask == nil {
		return "", &target.NotInteractiveError{Why: "there is nobody to ask"}
	}
	question := p.Question
	if p.Default != "" && !p.Private {
		question += " [" + p.Default + "]"
	}
	for {
		answer, err := ask(question + ": ")
		if err != nil || !p.Confirm {
			return answer, err
		}
		again, err := ask(question + ", once more: ")
		if err != nil || again == answer {
			return answer, err
		}
		question = "these differ; " + p.Question
	}
}

// parseAnswer is an answer as -e takes it: numbers, true and false are such. What is
// private is a text, as a password may look like anything.
func parseAnswer(p playbook.Prompt, answer string) any {
	if p.Private {
		return answer
	}
	if n, err := strconv.Atoi(answer); err == nil && strconv.Itoa(n) == answer {
		return n
	}
	if answer == "true" || answer == "false" {
		return answer == "true"
	}
	return answer
}

// privateNames are the names of variables that are written down nowhere.
func (r *Run) privateNames() []string {
	var out []string
	for _, p := range r.Program.Prompts {
		if p.Private {
			out = append(out, p.Name)
		}
	}
	return out
}

// withholdPrivate takes what is private out of what is written down.
func (r *Run) withholdPrivate(open map[string]any, withheld []string) (map[string]any, []string) {
	open = maps.Clone(open)
	for _, name := range r.privateNames() {
		if _, there := open[name]; there {
			delete(open, name)
			withheld = append(withheld, name)
		}
	}
	slices.Sort(withheld)
	return open, withheld
}

// missingVars are those of the names that must be given, as nobody asks for them.
func (r *Run) missingVars(names []string) []string {
	return slices.DeleteFunc(missingExtra(names, r.Extra), func(name string) bool {
		return slices.ContainsFunc(r.Program.Prompts, func(p playbook.Prompt) bool { return p.Name == name })
	})
}
