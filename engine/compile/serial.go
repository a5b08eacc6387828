package compile

import (
	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/limit"
)

// serial reads a number, a share, or a list of both.
func (c *compiler) serial(d *lang.Document, n *yaml.Node) program.Serial {
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	entries := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		entries = n.Content
	}
	var out program.Serial
	for _, e := range entries {
		var size limit.Limit
		err := size.UnmarshalYAML(e)
		switch {
		case err != nil:
			c.fail(d.At(e).Errorf("serial: %v", err))
		case !size.Share && size.Count == 0, size.Share && size.Percent == 0:
			c.fail(d.At(e).Errorf("serial: a batch has at least one host; leave serial out for all hosts at once"))
		}
		out = append(out, size)
	}
	if len(entries) == 0 {
		c.fail(d.At(n).Errorf("serial: the list is empty; leave serial out for all hosts at once"))
	}
	return out
}
