// Package calicotest validates objects of Calico in tests, against the custom resource definitions that
// Calico publishes: those of the release that deployer builds, and those of the default one. The
// validator is that of the API server; fields that the schema does not have, which the API server
// drops, are errors.
package calicotest

import (
	"embed"
	"encoding/json"
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"
)

//go:embed crds-*.yaml
var files embed.FS

// Versions are the releases of Calico whose schemas the package has.
func Versions() []string { return []string{"v3.28.4", "v3.31.7"} }

// Validate compares the spec of an object with the schema of its kind in a release. The kinds are those that
// deployer writes: BGPConfiguration, BGPFilter, BGPPeer, BlockAffinity, FelixConfiguration, IPAMBlock,
// IPAMConfig and IPPool.
func Validate(version string, object map[string]any) error {
	data, err := files.ReadFile("crds-" + version + ".yaml")
	if err != nil {
		return err
	}
	var schemas map[string]*spec.Schema
	if err := yaml.Unmarshal(data, &schemas); err != nil {
		return fmt.Errorf("schemas of Calico %s: %w", version, err)
	}
	kind, _ := object["kind"].(string)
	schema := schemas[kind]
	if schema == nil {
		return fmt.Errorf("no schema of %q in Calico %s", kind, version)
	}
	closed(schema)
	value, err := asJSON(object["spec"])
	if err != nil {
		return err
	}
	if err := validate.NewSchemaValidator(schema, nil, kind, strfmt.Default).Validate(value).AsError(); err != nil {
		return fmt.Errorf("schema of Calico %s: %w", version, err)
	}
	return nil
}

// closed forbids fields that a schema does not have.
func closed(schema *spec.Schema) {
	if len(schema.Properties) > 0 && schema.AdditionalProperties == nil {
		schema.AdditionalProperties = &spec.SchemaOrBool{Allows: false}
	}
	for name, field := range schema.Properties {
		closed(&field)
		schema.Properties[name] = field
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		closed(schema.Items.Schema)
	}
}

// asJSON returns a value as the API server decodes it.
func asJSON(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal(text, &out)
}
