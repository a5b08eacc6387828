package strictyaml

import (
	"gopkg.in/yaml.v3"
)

// maxNodes is the maximum number of nodes after aliases are expanded. A thousand
// hosts with a hundred values each have some 200 000 nodes; a larger document is an
// attack or a mistake.
const maxNodes = 2_000_000

// expand returns the tree below n without aliases and merge keys. Nodes are
// shared between the places of an alias.
func expand(file string, n *yaml.Node) (*yaml.Node, error) {
	x := &expander{file: file, done: map[*yaml.Node]expanded{}, busy: map[*yaml.Node]bool{}}
	out, size := x.node(n)
	if size > maxNodes {
		x.errs = append(x.errs, At(file, n).Errorf("aliases make this document larger than %d values", maxNodes))
	}
	return out, x.errs.orNil()
}

type expander struct {
	file string
	done map[*yaml.Node]expanded
	busy map[*yaml.Node]bool
	errs Errors
}

type expanded struct {
	node *yaml.Node
	size int // nodes in the tree, at most maxNodes+1
}

func (x *expander) node(n *yaml.Node) (*yaml.Node, int) {
	if r, ok := x.done[n]; ok {
		return r.node, r.size
	}
	if x.busy[n] {
		x.errs = append(x.errs, At(x.file, n).Errorf("this value contains itself through an alias"))
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line, Column: n.Column}, 1
	}
	x.busy[n] = true
	defer delete(x.busy, n)
	var r expanded
	switch n.Kind {
	case yaml.AliasNode:
		r.node, r.size = x.node(n.Alias)
	case yaml.MappingNode:
		r.node, r.size = x.mapping(n)
	case yaml.SequenceNode, yaml.DocumentNode:
		r.node, r.size = x.sequence(n)
	default:
		r.node, r.size = n, 1
	}
	x.done[n] = r
	return r.node, r.size
}

func (x *expander) sequence(n *yaml.Node) (*yaml.Node, int) {
	out, size := *n, 1
	out.Content, out.Anchor = make([]*yaml.Node, len(n.Content)), ""
	for i, c := range n.Content {
		child, s := x.node(c)
		out.Content[i] = child
		size = add(size, s)
	}
	return &out, size
}

// mapping appends the pairs of merged mappings to the mapping's own pairs, which have
// precedence; earlier merged mappings have precedence over later ones.
func (x *expander) mapping(n *yaml.Node) (*yaml.Node, int) {
	out := *n
	out.Content, out.Anchor = nil, ""
	size := 1
	put := func(key, value *yaml.Node, s int) {
		out.Content = append(out.Content, key, value)
		size = add(size, add(s, 1))
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, _ := x.node(n.Content[i])
		value, s := x.node(n.Content[i+1])
		if isMerge(n.Content[i]) {
			merged = append(merged, x.sources(n.Content[i], value)...)
			continue
		}
		put(key, value, s)
	}
	seen := map[string]bool{}
	for i := 0; i < len(out.Content); i += 2 {
		seen[out.Content[i].Value] = true
	}
	for _, m := range merged {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if key := m.Content[i]; !seen[key.Value] {
				seen[key.Value] = true
				put(key, m.Content[i+1], x.size(m.Content[i+1]))
			}
		}
	}
	return &out, size
}

// sources returns the mappings that a merge key names.
func (x *expander) sources(key, value *yaml.Node) []*yaml.Node {
	switch value.Kind {
	case yaml.MappingNode:
		return []*yaml.Node{value}
	case yaml.SequenceNode:
		var out []*yaml.Node
		for _, c := range value.Content {
			if c.Kind != yaml.MappingNode {
				x.errs = append(x.errs, At(x.file, c).Errorf("<< wants mappings to merge"))
				continue
			}
			out = append(out, c)
		}
		return out
	}
	x.errs = append(x.errs, At(x.file, key).Errorf("<< wants a mapping, or a list of mappings, to merge"))
	return nil
}

// size counts the nodes of an already expanded tree.
func (x *expander) size(n *yaml.Node) int {
	if r, ok := x.done[n]; ok {
		return r.size
	}
	size := 1
	for _, c := range n.Content {
		size = add(size, x.size(c))
	}
	x.done[n] = expanded{n, size}
	return size
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "" || key.Tag == "!" || key.ShortTag() == "!!merge")
}

func add(a, b int) int { return min(a+b, maxNodes+1) }
