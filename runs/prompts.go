package runs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"deployer/engine/program"
	"deployer/project"
	"deployer/runs/target"
)

// promptVars prompts for the variables of vars_prompt that have no value yet. A default
// is used for an empty answer, and when the program cannot prompt.
func (r *Run) promptVars() error {
	r.Prompted = nil // answers of an earlier run are not recorded
	for _, p := range r.Program.Prompts {
		if _, given := r.Extra[p.Name]; given {
			continue
		}
		answer, err := r.promptVar(p)
		var notInteractive *target.NotInteractiveError
		switch {
		case errors.As(err, &notInteractive) && p.Default == "":
			return project.AsUserError(fmt.Errorf("%s: prompting for %s: %w; set it with -e %s=VALUE", p.Pos, p.Name, err, p.Name))
		case err != nil && notInteractive == nil:
			return err
		case answer == "":
			answer = p.Default
		}
		r.Extra, r.Prompted = mergeVars(r.Extra, map[string]any{p.Name: parseAnswer(p, answer)}), append(r.Prompted, p.Name)
	}
	return nil
}

// promptVar prompts for a variable; with confirm it prompts twice, until both answers
// are equal.
func (r *Run) promptVar(p program.Prompt) (string, error) {
	ask := r.runner.PromptVisible
	if p.Private {
		ask = r.runner.PromptSecret
	}
	if ask == nil {
		return "", &target.NotInteractiveError{Why: "the program has no terminal"}
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
		repeated, err := ask(question + ", again: ")
		if err != nil || repeated == answer {
			return answer, err
		}
		question = "the answers differ; " + p.Question
	}
}

// parseAnswer converts an answer as -e does: whole numbers, true and false have their
// types. A private answer stays text, as a password may look like a number.
func parseAnswer(p program.Prompt, answer string) any {
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

// privateNames returns the names of private variables, which are never recorded.
func (r *Run) privateNames() []string {
	var out []string
	for _, p := range r.Program.Prompts {
		if p.Private {
			out = append(out, p.Name)
		}
	}
	return out
}

// withholdPrivate moves private variables from the recorded variables to the withheld
// names.
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

// missingVars returns the names without a value that no vars_prompt asks for.
func (r *Run) missingVars(names []string) []string {
	return slices.DeleteFunc(missingExtra(names, r.Extra), func(name string) bool {
		return slices.ContainsFunc(r.Program.Prompts, func(p program.Prompt) bool { return p.Name == name })
	})
}
