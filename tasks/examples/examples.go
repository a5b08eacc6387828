// Package examples has a short, true example for each kind of task. It is what
// the reference and `deployer doc` show.
package examples

import (
	"embed"

	"deployer/engine"
)

//go:embed *.yaml
var files embed.FS

// Of returns the example of a kind of task, a YAML list of tasks; empty when
// there is none.
func Of(kind string) string {
	text, err := files.ReadFile(kind + ".yaml")
	if err != nil {
		return ""
	}
	return string(text)
}

// In fills in the examples of kinds that have none of their own, and returns
// the kinds.
func In(kinds []engine.Kind) []engine.Kind {
	for i, k := range kinds {
		if k.Example == "" {
			kinds[i].Example = Of(k.Name)
		}
	}
	return kinds
}

// Names lists the kinds that have an example here.
func Names() []string {
	entries, _ := files.ReadDir(".") // an embedded directory can always be read
	var out []string
	for _, e := range entries {
		out = append(out, e.Name()[:len(e.Name())-len(".yaml")])
	}
	return out
}
