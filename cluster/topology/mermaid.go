package topology

import (
	"fmt"
	"strings"

	"deployer/drawtext"
)

// Mermaid returns the picture in the language of Mermaid.
func (p *Picture) Mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %q\n---\nflowchart TB\n", drawtext.OneLine(p.Title))
	for _, l := range p.Layers {
		fmt.Fprintf(&b, "  subgraph %s[\"%s\"]\n", mermaidID(l.ID), drawtext.Mermaid(l.Title))
		for _, box := range l.Boxes {
			text := drawtext.Mermaid(box.Title)
			for _, line := range box.Lines {
				text += "<br/>" + drawtext.Mermaid(line)
			}
			fmt.Fprintf(&b, "    %s[\"%s\"]\n", mermaidID(box.ID), text)
		}
		b.WriteString("  end\n")
	}
	for _, l := range p.Links {
		arrow := "-->"
		if l.Session {
			arrow = "---"
		}
		fmt.Fprintf(&b, "  %s %s|\"%s\"| %s\n", mermaidID(l.From), arrow, drawtext.Mermaid(l.Text), mermaidID(l.To))
	}
	return b.String()
}

// mermaidID returns an id of letters, digits and _, whatever the name of a router has. The first
// letter is no word of the language.
func mermaidID(id string) string {
	return "x_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, id)
}
