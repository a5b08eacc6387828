package strictyaml

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// originMark begins the comment of a node that comes from another file than the rest of
// its tree. YAML allows no NUL, so no comment of a document begins like this.
const originMark = "\x00"

// SetOrigin marks all nodes below n as nodes of file: At then returns places in that file,
// whichever file it is asked for. Callers mark the parts of a tree that is merged from
// several files. Comments of the nodes are lost.
func SetOrigin(file string, n *yaml.Node) {
	setOrigin(originMark+file, n, map[*yaml.Node]bool{})
}

func setOrigin(mark string, n *yaml.Node, seen map[*yaml.Node]bool) {
	if n == nil || seen[n] {
		return // shared through an alias
	}
	seen[n] = true
	n.HeadComment = mark
	for _, c := range n.Content {
		setOrigin(mark, c, seen)
	}
}

// originOf returns the file of a node: that of SetOrigin, or the given one.
func originOf(n *yaml.Node, file string) string {
	if origin, marked := strings.CutPrefix(n.HeadComment, originMark); marked {
		return origin
	}
	return file
}

// Overlay returns lower with the values of upper over it. Mappings are merged key by key,
// at any depth; every other value, a list too, replaces the one below it, and so does null.
// Neither tree is changed, and the result shares nodes with both. Keys that one mapping has
// twice stay twice, so that Decode reports them.
func Overlay(lower, upper *yaml.Node) *yaml.Node {
	if lower == nil || lower.Kind != yaml.MappingNode || upper.Kind != yaml.MappingNode {
		return upper
	}
	out := *upper
	out.Content = append([]*yaml.Node(nil), lower.Content...)
	below := make(map[string]int, len(lower.Content)/2)
	for i := 0; i+1 < len(lower.Content); i += 2 {
		below[lower.Content[i].Value] = i
	}
	for i := 0; i+1 < len(upper.Content); i += 2 {
		key, value := upper.Content[i], upper.Content[i+1]
		j, found := below[key.Value]
		if !found {
			out.Content = append(out.Content, key, value)
			continue
		}
		out.Content[j], out.Content[j+1] = key, Overlay(lower.Content[j+1], value)
		delete(below, key.Value)
	}
	return &out
}
