package pipeline

import (
	"maps"
	"os"
	"slices"
	"strings"

	"deployer/ci/config"
	"deployer/ci/gate"
)

// variables are the environment variables of inventories that are read in this process. A
// variable without a value has a placeholder there, when the configuration of the revision
// declares it; a stage that executes deployer needs the value.
type variables struct {
	secrets map[string]string // those that the configuration has in files
	// config is that of the revision that is read. anyName is true for revisions
	// before the one to deploy: a missing variable must not prevent that hosts which
	// leave are found.
	config  *config.Config
	anyName bool
	unknown map[string]string // placeholders that were used, by the name of the variable
}

// variablesOf returns the variables of a revision by its checkout.
func (p *Pipeline) variablesOf(dir string) *variables {
	v := &variables{secrets: p.secretValues, config: p.config, anyName: dir != p.dir, unknown: map[string]string{}}
	if v.anyName {
		if c, err := p.readConfig(dir); err == nil {
			v.config = c
		}
	}
	return v
}

// lookup returns the value of a variable, in the place of os.LookupEnv.
func (v *variables) lookup(name string) (value string, set bool) {
	if value, set = v.secrets[name]; set {
		return value, true
	}
	if value, set = os.LookupEnv(name); set {
		return value, true
	}
	value, declared := v.config.Placeholder(name)
	switch {
	case !declared && !v.anyName:
		return "", false
	case !declared:
		value = config.DefaultPlaceholder(name)
	}
	v.unknown[name] = value
	return value, true
}

// isPlaceholder reports whether a value was used as a placeholder: it is no secret.
func (v *variables) isPlaceholder(value string) bool {
	return slices.Contains(slices.Collect(maps.Values(v.unknown)), value)
}

// advise adds to errors of an inventory the advice that placeholders may be the reason.
func (v *variables) advise(found []gate.Finding) []gate.Finding {
	if len(v.unknown) == 0 {
		return found
	}
	for i := range found {
		found[i].Advice = "these variables have no value yet, and a placeholder instead: " + strings.Join(slices.Sorted(maps.Keys(v.unknown)), ", ") +
			"; if the place needs a value of another form, name one under placeholders in " + config.File
	}
	return found
}
