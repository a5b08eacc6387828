package importer

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// errVault is the error of a value that ansible-vault has encrypted.
var errVault = errors.New("encrypted with ansible-vault: put it into a file for `deployer secrets encrypt`")

// unsafeText is a text that Ansible never takes for a template.
type unsafeText string

// yamlFile is a file in YAML or JSON.
type yamlFile struct {
	name string
	json bool // numbers and words are those of JSON
}

func (f yamlFile) at(n *yaml.Node) string { return placeOf(f.name, n.Line) }

// placeOf returns FILE:LINE.
func placeOf(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// yamlValue converts a node to the value that Ansible makes of it.
type yamlValue struct {
	file   yamlFile
	remark string
	depth  int
	nodes  int
}

// The bounds of one value. Anchors can make a short file a huge value.
const (
	maxYAMLDepth = 100
	maxYAMLNodes = 1 << 20
)

func (f yamlFile) value(n *yaml.Node) (scalar, error) {
	y := yamlValue{file: f}
	v, err := y.of(n)
	return scalar{v, y.remark}, err
}

func (y *yamlValue) of(n *yaml.Node) (any, error) {
	y.nodes++
	if y.depth++; y.depth > maxYAMLDepth || y.nodes > maxYAMLNodes {
		return nil, fmt.Errorf("%s: the value is too large or contains itself", y.file.at(n))
	}
	defer func() { y.depth-- }()
	switch n.Kind {
	case yaml.AliasNode:
		return y.of(n.Alias)
	case yaml.SequenceNode:
		return y.list(n)
	case yaml.MappingNode:
		return y.mapping(n)
	}
	return y.scalar(n)
}

func (y *yamlValue) list(n *yaml.Node) (any, error) {
	if err := y.knownTag(n, "!!seq"); err != nil {
		return nil, err
	}
	out := []any{}
	for _, c := range n.Content {
		v, err := y.of(c)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (y *yamlValue) mapping(n *yaml.Node) (any, error) {
	if err := y.knownTag(n, "!!map"); err != nil {
		return nil, err
	}
	all, err := y.file.pairs(n)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, p := range all {
		key, err := y.of(p.key)
		if err != nil {
			return nil, err
		}
		name, isText := keyText(key)
		if !isText {
			y.remark = "its key " + name + " is a text here"
		}
		if out[name], err = y.of(p.value); err != nil {
			return nil, err
		}
	}
	if y.file.json {
		return markedJSON(out)
	}
	return out, nil
}

// knownTag refuses a list or mapping with a tag of its own.
func (y *yamlValue) knownTag(n *yaml.Node, known string) error {
	if n.Style&yaml.TaggedStyle == 0 || n.ShortTag() == known || n.Tag == "!unsafe" {
		return nil
	}
	return fmt.Errorf("%s: the tag %s has no equivalent", y.file.at(n), n.ShortTag())
}

func (y *yamlValue) scalar(n *yaml.Node) (any, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		switch n.ShortTag() {
		case "!vault", "!vault-encrypted":
			return nil, errVault
		case "!unsafe":
			return unsafeText(n.Value), nil
		case "!!str":
			return n.Value, nil
		case "!!int", "!!float", "!!bool", "!!null", "!!timestamp":
		default:
			return nil, fmt.Errorf("%s: the tag %s has no equivalent", y.file.at(n), n.ShortTag())
		}
	} else if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Value, nil
	}
	s := plain11(n.Value)
	if y.file.json {
		s = scalar{v: jsonScalar(n.Value)}
	}
	if s.remark != "" {
		y.remark = s.remark
	}
	return s.v, nil
}

// jsonScalar returns the value of a word or number of JSON.
func jsonScalar(text string) any {
	switch text {
	case "true", "false":
		return text == "true"
	case "null":
		return nil
	}
	v, err := pythonNumber(strings.TrimPrefix(text, "-"))
	if err != nil {
		return text
	}
	if strings.HasPrefix(text, "-") {
		switch t := v.(type) {
		case int:
			return -t
		case float64:
			return -t
		case bigInt:
			return "-" + t
		}
	}
	return v
}
