package addons

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	sigsyaml "sigs.k8s.io/yaml"

	"deployer/cluster"
	"deployer/strictyaml"
)

// readValues returns the values for a chart: those of the files in order, and over them those of
// the inventory.
func readValues(r *reader, spec cluster.AddonSpec) (map[string]any, error) {
	values := map[string]any{}
	for _, file := range spec.ValuesFiles {
		content, err := r.read(file)
		if err != nil {
			return nil, err
		}
		root, err := strictyaml.Parse(file, content)
		if err != nil {
			return nil, err
		}
		if root == nil || root.Kind == 0 {
			continue
		}
		if root.Kind != yaml.MappingNode {
			return nil, strictyaml.At(file, root).Errorf("want a mapping of values")
		}
		found, err := strictyaml.ResolveTags(file, root, r.files.LookupEnv)
		if strings.HasSuffix(file, encrypted) {
			found = append(found, scalarTexts(root)...)
		}
		r.files.AddSecrets(found)
		if err != nil {
			return nil, err
		}
		more, err := valuesOf(root)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		values = loader.MergeMaps(values, more)
	}
	if spec.Values.Node == nil {
		return values, nil
	}
	own, err := valuesOf(spec.Values.Node)
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	return loader.MergeMaps(values, own), nil
}

// valuesOf decodes values as Helm does: yes and no are true and false.
func valuesOf(n *yaml.Node) (map[string]any, error) {
	text, err := yaml.Marshal(n)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	return values, sigsyaml.Unmarshal(text, &values)
}

// scalarTexts returns the texts and numbers below a node.
func scalarTexts(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		if tag := n.ShortTag(); tag == "!!null" || tag == "!!bool" || n.Value == "" {
			return nil
		}
		return []string{n.Value}
	}
	var out []string
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			out = append(out, scalarTexts(c)...)
		}
	}
	return out
}
