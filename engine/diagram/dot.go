package diagram

import (
	"fmt"
	"strings"

	"deployer/drawtext"
)

// DOT returns the diagram in the language of Graphviz.
func (d *Diagram) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", drawtext.DOT(d.Name))
	b.WriteString("  compound=true; rankdir=TB; fontname=\"Helvetica\";\n")
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=11];\n  edge [fontname=\"Helvetica\", fontsize=10];\n")
	for _, p := range d.Plays {
		fmt.Fprintf(&b, "  subgraph \"cluster_%s\" {\n    label=%s; style=filled; fillcolor=\"#f2f4f7\"; color=\"#8a94a0\";\n", p.ID, drawtext.DOT(p.title()))
		if len(p.Items) == 0 {
			fmt.Fprintf(&b, "    %s [label=\"no step\", style=dashed];\n", p.ID)
		}
		for _, i := range p.Items {
			indent := strings.Repeat("  ", i.Depth+2)
			switch i.Kind {
			case Begin:
				fmt.Fprintf(&b, "%ssubgraph \"cluster_%s\" {\n%s  label=%s; style=\"filled,dashed\"; fillcolor=\"#e3ebf5\"; color=\"#2f6fb3\";\n", indent, i.ID, indent, drawtext.DOT(i.title()))
				fmt.Fprintf(&b, "%s  %s [shape=point, width=0.08];\n", indent, i.ID)
			case End:
				fmt.Fprintf(&b, "%s}\n", indent)
			case Barrier:
				fmt.Fprintf(&b, "%s%s [label=%s, style=filled, fillcolor=\"#3a4450\", fontcolor=white, height=0.2];\n", indent, i.ID, drawtext.DOT(i.title()))
			default:
				border := ""
				if i.RunOnce {
					border = ", peripheries=2"
				}
				fmt.Fprintf(&b, "%s%s [label=%s%s];\n", indent, i.ID, drawtext.DOT(i.title()), border)
			}
		}
		b.WriteString("  }\n")
	}
	nodes := d.nodes()
	for i := 1; i < len(nodes); i++ {
		fmt.Fprintf(&b, "  %s -> %s;\n", nodes[i-1], nodes[i])
	}
	for _, a := range d.Arrows {
		if a.From != "" {
			fmt.Fprintf(&b, "  %s -> %s [label=%s, style=dashed, color=\"#b01526\", fontcolor=\"#b01526\", constraint=false];\n", a.From, a.To, drawtext.DOT(a.Text))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// title returns the text of a play with its hosts and remarks.
func (p Play) title() string {
	return strings.Join(append([]string{p.Name + " (" + p.Hosts + ")"}, p.Remarks...), "; ")
}

// title returns the text of an item with its remarks.
func (i Item) title() string {
	if len(i.Remarks) == 0 {
		return i.Text
	}
	return i.Text + " [" + strings.Join(i.Remarks, "; ") + "]"
}

// nodes returns the ids of what hosts pass, in order: items, and plays without any.
func (d *Diagram) nodes() []string {
	var out []string
	for _, p := range d.Plays {
		if len(p.Items) == 0 {
			out = append(out, p.ID)
		}
		for _, i := range p.Items {
			if i.Kind != End {
				out = append(out, i.ID)
			}
		}
	}
	return out
}
