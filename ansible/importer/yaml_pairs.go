package importer

import (
	"errors"
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

var errShape = errors.New("this is not the shape of an inventory")

// yamlPair is an entry of a mapping.
type yamlPair struct{ key, value *yaml.Node }

// pairs returns the entries of a mapping, those of merge keys (<<) first, so that later
// ones win. An empty node counts as an empty mapping.
func (f yamlFile) pairs(n *yaml.Node) ([]yamlPair, error) { return f.merged(n, 0) }

func (f yamlFile) merged(n *yaml.Node, depth int) ([]yamlPair, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if isEmpty(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: %w: want a mapping", f.at(n), errShape)
	}
	if depth > maxYAMLDepth {
		return nil, fmt.Errorf("%s: the merge keys contain each other", f.at(n))
	}
	var merged, own []yamlPair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		if key.ShortTag() != "!!merge" {
			own = append(own, yamlPair{key, v})
			continue
		}
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		sources := []*yaml.Node{v}
		if v.Kind == yaml.SequenceNode {
			sources = v.Content
		}
		for _, source := range slices.Backward(sources) {
			pairs, err := f.merged(source, depth+1)
			if err != nil {
				return nil, err
			}
			merged = append(merged, pairs...)
		}
	}
	return append(merged, own...), nil
}

func isEmpty(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.Style == 0 && plainNull.MatchString(n.Value)
}
