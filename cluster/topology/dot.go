package topology

import (
	"fmt"
	"slices"
	"strings"

	"deployer/drawtext"
)

// DOT returns the picture in the language of Graphviz.
func (p *Picture) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", drawtext.DOT(p.Title))
	b.WriteString("  compound=true; rankdir=TB; newrank=true; fontname=\"Helvetica\";\n")
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=11];\n  edge [fontname=\"Helvetica\", fontsize=10];\n")
	for _, l := range p.Layers {
		fmt.Fprintf(&b, "  subgraph %s {\n    label=%s; style=filled; fillcolor=\"#f2f4f7\"; color=\"#8a94a0\";\n", drawtext.DOT("cluster_"+l.ID), drawtext.DOT(l.Title))
		for _, box := range l.Boxes {
			lines := append([]string{box.Title}, box.Lines...)
			for i, line := range lines {
				lines[i] = strings.Trim(drawtext.DOT(line), `"`)
			}
			fmt.Fprintf(&b, "    %s [label=\"%s\"];\n", drawtext.DOT(box.ID), strings.Join(lines, `\n`))
		}
		b.WriteString("  }\n")
	}
	for _, l := range p.Links {
		attributes := []string{"label=" + drawtext.DOT(l.Text)}
		if l.Session {
			attributes = append(attributes, "dir=none")
		}
		from, of := p.end(l.From)
		to, at := p.end(l.To)
		if of != "" {
			attributes = append(attributes, "ltail="+drawtext.DOT("cluster_"+of))
		}
		if at != "" {
			attributes = append(attributes, "lhead="+drawtext.DOT("cluster_"+at))
		}
		fmt.Fprintf(&b, "  %s -> %s [%s];\n", drawtext.DOT(from), drawtext.DOT(to), strings.Join(attributes, ", "))
	}
	b.WriteString("}\n")
	return b.String()
}

// end returns the box at the end of a link and, when the link ends at a layer, this layer.
func (p *Picture) end(id string) (box, layer string) {
	i := slices.IndexFunc(p.Layers, func(l Layer) bool { return l.ID == id })
	if i < 0 {
		return id, ""
	}
	boxes := p.Layers[i].Boxes
	return boxes[len(boxes)/2].ID, id
}
