// Package examples has a short, tested example for each kind of task. The reference
// and `deployer doc` show it.
package examples

import (
	"embed"

	"deployer/engine"
)

//go:embed *.yaml
var files embed.FS

// YAML returns the example of a kind of task, a YAML list of tasks; empty when there
// is none.
func YAML(kind string) string {
	text, err := files.ReadFile(kind + ".yaml")
	if err != nil {
		return ""
	}
	return string(text)
}

// In sets the examples of kinds that have none of their own, and returns the kinds.
func In(kinds []engine.Kind) []engine.Kind {
	for i, k := range kinds {
		if k.Example == "" {
			kinds[i].Example = YAML(k.Name)
		}
	}
	return kinds
}
