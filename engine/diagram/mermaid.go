package diagram

import (
	"fmt"
	"strings"

	"deployer/drawtext"
)

// Mermaid returns the diagram in the language of Mermaid, which pages in Markdown show.
func (d *Diagram) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TB\n")
	for _, p := range d.Plays {
		fmt.Fprintf(&b, "  subgraph play_%s[\"%s\"]\n", p.ID, drawtext.Mermaid(p.title()))
		if len(p.Items) == 0 {
			fmt.Fprintf(&b, "    %s[\"no step\"]\n", p.ID)
		}
		for _, i := range p.Items {
			indent := strings.Repeat("  ", i.Depth+2)
			switch text := drawtext.Mermaid(i.title()); {
			case i.Kind == Begin:
				fmt.Fprintf(&b, "%ssubgraph block_%s[\"%s\"]\n%s  %s((\" \"))\n", indent, i.ID, text, indent, i.ID)
			case i.Kind == End:
				fmt.Fprintf(&b, "%send\n", indent)
			case i.Kind == Barrier:
				fmt.Fprintf(&b, "%s%s{{\"%s\"}}\n", indent, i.ID, text)
			case i.RunOnce:
				fmt.Fprintf(&b, "%s%s[[\"%s\"]]\n", indent, i.ID, text)
			default:
				fmt.Fprintf(&b, "%s%s[\"%s\"]\n", indent, i.ID, text)
			}
		}
		b.WriteString("  end\n")
	}
	nodes := d.nodes()
	for i := 1; i < len(nodes); i++ {
		fmt.Fprintf(&b, "  %s --> %s\n", nodes[i-1], nodes[i])
	}
	for _, a := range d.Arrows {
		if a.From != "" {
			fmt.Fprintf(&b, "  %s -. \"%s\" .-> %s\n", a.From, drawtext.Mermaid(a.Text), a.To)
		}
	}
	return b.String()
}
