package diagram

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"deployer/drawtext"
	"deployer/shortlist"
)

// Sizes of the picture, in pixels.
const (
	svgWidth  = 920 // of a play
	svgMargin = 20
	svgRow    = 26
	svgHead   = 34
	svgGap    = 26 // between two plays
	svgIndent = 18
	svgLane   = 14  // between two arrows
	svgChar   = 7.4 // approximate maximum width of a character
)

const svgStyle = `
  .back { fill: #ffffff } .play { fill: #f2f4f7; stroke: #8a94a0 } .step { fill: #ffffff; stroke: #8a94a0 } .once { stroke-width: 3; stroke: #4a5460 }
  .block { fill: #e3ebf5; stroke: #2f6fb3; stroke-dasharray: 5 3 } .barrier { fill: #3a4450 } .bar { fill: #ffffff }
  text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1b2128 } .title { font-weight: 600; font-size: 14px } .remark { fill: #4a5460; font-size: 12px; font-weight: 400 }
  .flow { stroke: #4a5460; fill: none } .flowhead { fill: #4a5460 } .need { stroke: #b01526; fill: none; stroke-dasharray: 6 3; stroke-width: 1.5 } .needhead { fill: #b01526 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #11151a } .play { fill: #1a2027; stroke: #6b7682 } .step { fill: #11151a; stroke: #6b7682 } .once { stroke: #b8c2cc }
    .block { fill: #1c2a3a; stroke: #79b8ff } .barrier { fill: #c9d2db } .bar { fill: #11151a }
    text { fill: #e4e9ee } .remark { fill: #b3bdc7 } .flow { stroke: #b3bdc7 } .flowhead { fill: #b3bdc7 } .need { stroke: #ff8b83 } .needhead { fill: #ff8b83 }
  }
`

// SVG returns the diagram as a picture. Hosts go from the top to the bottom; arrows at the
// right go from a labelled step to what waits for the label.
func (d *Diagram) SVG() string {
	p := &svg{rows: map[string]int{}, needs: map[string][]string{}}
	for _, a := range d.Arrows {
		p.needs[a.To] = append(p.needs[a.To], a.Text)
	}
	p.y = svgMargin
	for i, play := range d.Plays {
		if i > 0 {
			x := svgMargin + svgWidth/2
			p.line(`<path class="flow" d="M%d %d V%d" marker-end="url(#flow)"/>`, x, p.y-svgGap, p.y-7)
		}
		p.play(play)
		p.y += svgGap
	}
	lanes := p.arrows(d.Arrows)
	width, height := svgWidth+2*svgMargin+lanes*svgLane, p.y
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n", drawtext.XML(d.Name), drawtext.XML(d.summary()), svgStyle)
	for _, name := range []string{"flow", "need"} {
		fmt.Fprintf(&out, `<marker id="%s" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8" markerHeight="8" orient="auto" markerUnits="userSpaceOnUse"><path class="%shead" d="M0 0 L8 4 L0 8 z"/></marker>`+"\n", name, name)
	}
	fmt.Fprintf(&out, `<rect class="back" width="%d" height="%d"/>`+"\n", width, height)
	out.WriteString(p.out.String())
	out.WriteString("</svg>\n")
	return out.String()
}

// summary returns the content of the picture in a sentence, for screen readers.
func (d *Diagram) summary() string {
	names := make([]string, len(d.Plays))
	for i, p := range d.Plays {
		names[i] = p.Name
	}
	return shortlist.Count(len(d.Plays), "play") + ": " + strings.Join(names, ", ")
}

type svg struct {
	out  strings.Builder
	y    int
	rows map[string]int // the middle of each item
	// needs are the texts of the arrows to each item, for readers that do not see arrows.
	needs map[string][]string
}

func (p *svg) line(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *svg) play(play Play) {
	height := svgHead + 8
	for _, i := range play.Items {
		height += i.height()
	}
	p.line(`<rect class="play" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, svgMargin, p.y, svgWidth, height)
	p.text(svgMargin+12, p.y+svgHead/2+5, svgWidth-24, "title", play.Name, strings.Join(append([]string{play.Hosts}, play.Remarks...), "; "))
	p.y += svgHead
	for n, i := range play.Items {
		remark := strings.Join(append(slices.Clone(p.needs[i.ID]), i.Remarks...), "; ")
		x := svgMargin + 12 + i.Depth*svgIndent
		width := svgWidth - 24 - 2*i.Depth*svgIndent
		switch i.Kind {
		case Begin:
			p.line(`<rect class="block" x="%d" y="%d" width="%d" height="%d" rx="5"/>`, x, p.y+2, width, blockHeight(play.Items[n:])-4)
			p.text(x+10, p.y+svgRow/2+5, width-20, "", i.Text, remark)
			p.rows[i.ID] = p.y + svgRow/2
		case End:
		case Barrier:
			p.line(`<rect class="barrier" x="%d" y="%d" width="%d" height="%d" rx="3"/>`, x, p.y+4, width, svgRow-8)
			p.text(x+10, p.y+svgRow/2+5, width-20, "bar", i.Text, "")
			p.rows[i.ID] = p.y + svgRow/2
		default:
			class := "step"
			if i.RunOnce {
				class = "step once"
			}
			p.line(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="4"/>`, class, x, p.y+2, width, svgRow-4)
			p.text(x+10, p.y+svgRow/2+5, width-20, "", i.Text, remark)
			p.rows[i.ID] = p.y + svgRow/2
		}
		p.y += i.height()
	}
	p.y += 8
}

func (i Item) height() int {
	if i.Kind == End {
		return 8
	}
	return svgRow
}

// blockHeight returns the height of a block, with whose Begin the items start.
func blockHeight(items []Item) int {
	height := 0
	for _, i := range items {
		height += i.height()
		if i.Kind == End && i.ID == items[0].ID {
			break
		}
	}
	return height
}

// text writes a text and behind it a remark, both shortened to a width. The whole text is
// the tooltip.
func (p *svg) text(x, y, width int, class, text, remark string) {
	whole, room := text, int(float64(width)/svgChar)
	if remark != "" {
		whole += " (" + remark + ")"
	}
	shown := drawtext.Shorten(text, room)
	remark = drawtext.Shorten(remark, max(room-len([]rune(shown))-3, 0))
	fmt.Fprintf(&p.out, `<text class="%s" x="%d" y="%d"><title>%s</title>%s`, class, x, y, drawtext.XML(whole), drawtext.XML(shown))
	if remark != "" {
		fmt.Fprintf(&p.out, `<tspan class="remark" dx="10">%s</tspan>`, drawtext.XML(remark))
	}
	p.out.WriteString("</text>\n")
}

// arrows draws the arrows of labels, each in a lane of its own where they overlap, and
// returns the number of lanes.
func (p *svg) arrows(all []Arrow) int {
	all = slices.DeleteFunc(slices.Clone(all), func(a Arrow) bool { return p.rows[a.From] == 0 || p.rows[a.To] == 0 })
	top := func(a Arrow) int { return min(p.rows[a.From], p.rows[a.To]) }
	bottom := func(a Arrow) int { return max(p.rows[a.From], p.rows[a.To]) }
	slices.SortStableFunc(all, func(a, b Arrow) int { return cmp.Compare(bottom(a)-top(a), bottom(b)-top(b)) })
	var lanes [][]Arrow // the shortest arrows are next to the plays
	for _, a := range all {
		i := 0
		for i < len(lanes) && slices.ContainsFunc(lanes[i], func(b Arrow) bool { return top(a) <= bottom(b) && top(b) <= bottom(a) }) {
			i++
		}
		if i == len(lanes) {
			lanes = append(lanes, nil)
		}
		lanes[i] = append(lanes[i], a)
		edge := svgMargin + svgWidth - 12
		x := edge + 12 + (i+1)*svgLane
		p.line(`<path class="need" d="M%d %d H%d V%d H%d" marker-end="url(#need)"><title>%s</title></path>`, edge, p.rows[a.From], x, p.rows[a.To], edge+8, drawtext.XML(a.Text))
	}
	return len(lanes)
}
