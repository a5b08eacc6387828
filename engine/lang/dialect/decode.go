package dialect

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/jsonappend"
)

// Bounds of a text that an expression or a template decodes: it may come from a host, as the
// 8 MiB that a command prints at most, and what it becomes takes many times its size.
const (
	// maxDecoded is the memory in bytes that the value of one text takes, as the results of
	// one message of a host; see jsonappend.Weigh.
	maxDecoded = 64 << 20
	// yamlWeight is the memory of what begins at a line, a comma, a bracket or the mark of an
	// element, in bytes: at most two nodes of yaml.v3 and their values, measured.
	yamlWeight = 640
	// nodeWeight is the memory of a decoded node in bytes: a mapping in a list.
	nodeWeight = 400
)

// BoundJSON returns an error for JSON that would take more than 64 MiB when it is decoded.
func BoundJSON(s string) error {
	if weight := jsonappend.Weigh([]byte(s)); weight > maxDecoded {
		return tooLarge("JSON", s, weight)
	}
	return nil
}

// DecodeYAML decodes the first YAML document of a text. A value that would take more than
// 64 MiB, with each alias as a copy of what it names, is an error before it is decoded.
func DecodeYAML(s string) (any, error) {
	if weight := weighYAML(s); weight > maxDecoded {
		return nil, tooLarge("YAML", s, weight)
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(s), &root); err != nil {
		return nil, err
	}
	w := &aliasWeights{known: map[*yaml.Node]int{}}
	if weight := w.of(&root); weight > maxDecoded {
		return nil, tooLarge("YAML with its aliases", s, weight)
	}
	if w.circular {
		return nil, errors.New("an alias in the YAML names what contains it")
	}
	var v any
	err := root.Decode(&v)
	return v, err
}

func tooLarge(what, s string, weight int) error {
	return fmt.Errorf("the %s of %d KiB would take %d MiB of memory, the limit is %d MiB; let the command that prints it select what is needed",
		what, (len(s)+1023)>>10, weight>>20, maxDecoded>>20)
}

// weighYAML estimates the memory in bytes that YAML takes while it is parsed and decoded,
// without its aliases.
func weighYAML(s string) int {
	weight := len(s) + yamlWeight
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n', ',', '[', '{':
			weight += yamlWeight
		case '-', '?':
			if i+1 == len(s) || strings.IndexByte(" \t\n", s[i+1]) >= 0 {
				weight += yamlWeight
			}
		}
	}
	return weight
}

// aliasWeights weighs nodes, an alias as what it names.
type aliasWeights struct {
	known    map[*yaml.Node]int // -1 while a node is weighed
	circular bool
}

func (w *aliasWeights) of(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if weight, ok := w.known[n]; ok {
		w.circular = w.circular || weight < 0
		return max(weight, 0)
	}
	w.known[n] = -1
	weight := nodeWeight + len(n.Value)
	for _, child := range n.Content {
		weight = min(weight+w.of(child), 1<<50) // aliases of aliases grow exponentially
	}
	w.known[n] = weight
	return weight
}
