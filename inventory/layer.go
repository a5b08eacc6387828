package inventory

import (
	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// layer is one place in the file, or one file beside it, with settings of a host.
type layer struct {
	name      string // "all", "group rack1", "host m1", or the name of the file beside
	file      string // file of its nodes, as messages show it; empty for the inventory itself
	ssh       *yaml.Node
	vars      *yaml.Node
	overrides *yaml.Node
	labels    strictyaml.Map[string]
	taints    []taint
	choice    NodeAddressChoice
}

// fileLayer, groupLayer and hostLayer read the layers from the sections.
func fileLayer(f *file) layer {
	return layer{name: "all", ssh: f.SSH.Node, vars: f.Vars.Node, choice: NodeAddressChoice{string(f.Network), string(f.Interface)}}
}

func groupLayer(e strictyaml.Entry[groupSection]) layer {
	g := e.Value
	return layer{"group " + e.Key, "", g.SSH.Node, g.Vars.Node, g.Overrides.Node, g.Labels, g.Taints, NodeAddressChoice{string(g.Network), string(g.Interface)}}
}

func hostLayer(e strictyaml.Entry[hostSection]) layer {
	h := e.Value
	return layer{"host " + e.Key, "", h.SSH.Node, h.Vars.Node, h.Overrides.Node, h.Labels, h.Taints, NodeAddressChoice{string(h.Network), string(h.Interface)}}
}

// checkTaints reports two taints of one section that a node cannot have together.
func (b *builder) checkTaints(pos strictyaml.Pos, taints []taint) {
	seen := map[string]taint{}
	for _, t := range taints {
		if first, has := seen[t.id()]; has {
			b.errorf(pos, "taints %s and %s have the same key and effect, and a node has one of them: remove one", first, t)
		}
		seen[t.id()] = t
	}
}

// pick returns one section of each layer, by rising precedence.
func pick(layers []layer, section func(layer) *yaml.Node) []*yaml.Node {
	out := make([]*yaml.Node, len(layers))
	for i, l := range layers {
		out[i] = section(l)
	}
	return out
}

// shallow merges mappings key by key: the last mapping with a key wins.
func shallow(nodes []*yaml.Node) *yaml.Node {
	return merge(nodes, func(_, upper *yaml.Node) *yaml.Node { return upper })
}

// deep merges mappings recursively; any other value is replaced whole. deep is associative
// from the left.
func deep(nodes []*yaml.Node) *yaml.Node {
	return merge(nodes, func(lower, upper *yaml.Node) *yaml.Node {
		if lower.Kind == yaml.MappingNode && upper.Kind == yaml.MappingNode {
			return deep([]*yaml.Node{lower, upper})
		}
		return upper
	})
}

// merge merges mappings; both resolves a key of two mappings. Nodes that are not
// mappings (absent sections) are skipped. Values keep their positions.
func merge(nodes []*yaml.Node, both func(lower, upper *yaml.Node) *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	at := map[string]int{}
	for _, n := range nodes {
		if n == nil || n.Kind != yaml.MappingNode {
			continue
		}
		out.Line, out.Column, out.HeadComment = n.Line, n.Column, n.HeadComment // with its origin
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if j, ok := at[key.Value]; ok {
				out.Content[j] = key
				out.Content[j+1] = both(out.Content[j+1], value)
				continue
			}
			at[key.Value] = len(out.Content)
			out.Content = append(out.Content, key, value)
		}
	}
	return out
}
