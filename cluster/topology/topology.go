// Package topology draws a resolved cluster: which hosts serve what, and who connects to whom.
// [ControlPlane] and [PodNetwork] make a [Picture], whose forms agree: [Picture.SVG], a picture
// that needs no other program, [Picture.Mermaid] for pages in Markdown, and [Picture.DOT] for
// Graphviz. Hosts with the same connections are one box, so that a picture of 1000 hosts has as
// many boxes as one of 10. The package does no I/O, and the same cluster gives the same bytes.
package topology

import (
	"fmt"
	"strings"

	"deployer/cluster"
	"deployer/shortlist"
)

// Picture shows layers of boxes, from the top to the bottom, and connections between them.
type Picture struct {
	Title  string
	Layers []Layer
	Links  []Link
}

// Layer is a row of boxes.
type Layer struct {
	ID    string // by which links name the whole layer
	Title string
	Boxes []Box
}

// Box is a host, several hosts with the same connections, or what is outside of the cluster.
type Box struct {
	ID    string
	Title string
	Lines []string
	hosts []string // none for what is outside of the cluster
}

// Link is a connection: From connects to To. Both are ids of boxes or of layers. A session, which
// either end opens, has no direction.
type Link struct {
	From, To string
	Text     string
	Session  bool
}

// Names writes a list of hosts for people, such as n[1:40].
type Names func(hosts []string) string

// maxBoxes is the maximum number of boxes of a layer for single hosts; more hosts are one box.
const maxBoxes = 9

// longNames is the maximum length of the names in a box of several hosts.
const longNames = 30

// summary returns the content of the picture in a sentence, for screen readers.
func (p *Picture) summary() string {
	var out []string
	for _, l := range p.Layers {
		out = append(out, l.Title+": "+shortlist.Count(len(l.Boxes), "part"))
	}
	return strings.Join(out, "; ")
}

// box is the box of hosts that are drawn together. Line is what each of them runs.
func (n Names) box(id string, c *cluster.Cluster, hosts []string, lines ...string) Box {
	if len(hosts) == 1 {
		return Box{id, hosts[0], append([]string{strings.Join(c.Nodes[hosts[0]].IPs, ", ")}, lines...), hosts}
	}
	title, text := shortlist.Count(len(hosts), "host"), n(hosts)
	if len(text) > longNames {
		text = text[:strings.LastIndex(text[:longNames], ",")+1] + " ..."
	}
	return Box{id, title, append([]string{text}, lines...), hosts}
}

// boxes returns a box for each host or, of many, one for all.
func (n Names) boxes(prefix string, c *cluster.Cluster, hosts []string, lines func(host string) []string) []Box {
	if len(hosts) > maxBoxes {
		return []Box{n.box(prefix, c, hosts, lines(hosts[0])...)}
	}
	var out []Box
	for i, h := range hosts {
		out = append(out, n.box(fmt.Sprintf("%s%d", prefix, i+1), c, []string{h}, lines(h)...))
	}
	return out
}
