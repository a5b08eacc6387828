package program

import (
	"slices"

	"deployer/strictyaml"
)

// Prompt is a variable that the user is asked for before the run. The answer wins over all
// other values.
type Prompt struct {
	Pos      strictyaml.Pos
	Name     string
	Question string
	Default  string // used for an empty answer
	Private  bool   // the answer is neither shown nor stored
	Confirm  bool   // the user types the answer twice
}

// IsPrompted reports whether the user is asked for the variable.
func (p *Program) IsPrompted(name string) bool {
	return slices.ContainsFunc(p.Prompts, func(q Prompt) bool { return q.Name == name })
}
