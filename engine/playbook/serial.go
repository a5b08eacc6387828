package playbook

import (
	"gopkg.in/yaml.v3"
)

// Serial says how many hosts go through a play at one time: the size of the
// first batch, of the second, and so on; the last one repeats. Empty means all
// hosts at once.
type Serial []Limit

// Sizes are the sizes of the batches that so many hosts are cut into. A share
// is one of all hosts of the play, rounded down, but at least one host.
func (s Serial) Sizes(hosts int) []int {
	if len(s) == 0 {
		return []int{hosts}
	}
	var out []int
	for left := hosts; left > 0; left -= out[len(out)-1] {
		size := s[min(len(out), len(s)-1)].Of(hosts)
		out = append(out, min(max(size, 1), left))
	}
	return out
}

// serial reads a number, a share, or a list of both.
func (c *compiler) serial(d *document, n *yaml.Node) Serial {
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	entries := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		entries = n.Content
	}
	var out Serial
	for _, e := range entries {
		var size Limit
		err := size.UnmarshalYAML(e)
		switch {
		case err != nil:
			c.fail(d.at(e).Errorf("serial: %v", err))
		case !size.Share && size.Count == 0, size.Share && size.Percent == 0:
			c.fail(d.at(e).Errorf("serial: a batch has at least one host; leave serial out for all hosts at once"))
		}
		out = append(out, size)
	}
	if len(entries) == 0 {
		c.fail(d.at(n).Errorf("serial: the list is empty; leave serial out for all hosts at once"))
	}
	return out
}
