package lang

import "deployer/strictyaml"

// contextVar is the hidden variable that holds the *runContext of a host.
const contextVar = "context__"

// runContext holds the values of the run that expressions read beside variables.
type runContext struct {
	definers    map[string]strictyaml.Pos // see Vars.Explain
	holdLookups bool                      // see Vars.HoldLookups
}
