package inventory

import (
	"encoding/json"
	"fmt"

	"deployer/strictyaml"
)

// Schema returns the JSON Schema (draft 2020-12) of inventory files. cluster and
// artifacts are values of the types of those sections; nil allows any content.
func Schema(cluster, artifacts any) ([]byte, error) {
	s := strictyaml.Schema(file{})
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Inventory of deployer"
	properties := s["properties"].(map[string]any)
	for name, v := range map[string]any{"cluster": cluster, "artifacts": artifacts} {
		if v == nil {
			continue
		}
		section := strictyaml.Schema(v)
		if doc, ok := properties[name].(map[string]any)["description"]; ok {
			section["description"] = doc
		}
		properties[name] = section
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema of inventories: %w", err)
	}
	return append(out, '\n'), nil
}

// Describe lists the keys of inventory files for references, without the keys of the
// sections cluster and artifacts; see strictyaml.Describe.
func Describe() []strictyaml.Key { return strictyaml.Describe(file{}) }
