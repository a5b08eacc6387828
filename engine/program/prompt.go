package program

import (
	"slices"

	"deployer/strictyaml"
)

// Prompt is a variable that a play asks for before the run; what is answered wins
// over all others.
type Prompt struct {
	Pos      strictyaml.Pos
	Name     string
	Question string
	Default  string // stands for no answer
	Private  bool   // the answer is not shown, and written down nowhere
	Confirm  bool   // it is asked for twice
}

// IsPrompted reports whether the user is asked for the variable.
func (p *Program) IsPrompted(name string) bool {
	return slices.ContainsFunc(p.Prompts, func(q Prompt) bool { return q.Name == name })
}
