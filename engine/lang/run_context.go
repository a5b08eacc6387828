package lang

import "deployer/strictyaml"

// contextVar is the hidden variable with the *runContext of a host.
const contextVar = "context__"

// runContext is what expressions know of the run beside variables.
type runContext struct {
	definers map[string]strictyaml.Pos // see Vars.Explain
}
