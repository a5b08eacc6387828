package topology

import (
	"fmt"
	"strings"

	"deployer/drawtext"
)

// Sizes of the picture, in pixels.
const (
	width     = 960
	margin    = 20
	gap       = 56 // between two layers, for links
	header    = 28 // of a layer
	boxWidth  = 218
	boxGap    = 14
	boxesARow = 4
	lineRow   = 17
	lane      = 16  // between two links of layers that are no neighbours
	charWidth = 6.9 // approximate maximum width of a character
)

const style = `
  .back { fill: #ffffff } .layer { fill: #f2f4f7; stroke: #8a94a0 } .box { fill: #ffffff; stroke: #2f6fb3 }
  text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #1b2128 } .title { font-weight: 600; font-size: 14px } .name { font-weight: 600 } .soft { fill: #4a5460 }
  .link { stroke: #4a5460; fill: none; stroke-width: 1.5 } .head { fill: #4a5460 } .session { stroke: #b01526; fill: none; opacity: .75 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #11151a } .layer { fill: #1a2027; stroke: #6b7682 } .box { fill: #11151a; stroke: #79b8ff }
    text { fill: #e4e9ee } .soft { fill: #b3bdc7 } .link { stroke: #b3bdc7 } .head { fill: #b3bdc7 } .session { stroke: #ff8b83 }
  }
`

// rectangle is a place in the picture.
type rectangle struct{ x, y, width, height int }

func (r rectangle) middle() int { return r.x + r.width/2 }
func (r rectangle) bottom() int { return r.y + r.height }

// drawing is a picture in the making.
type drawing struct {
	out    strings.Builder
	places map[string]rectangle // of boxes and layers, by id
	layers map[string]int       // the layer of a box or layer, by id
	lanes  int
}

func (d *drawing) line(format string, args ...any) { fmt.Fprintf(&d.out, format+"\n", args...) }

// SVG returns the picture for browsers and documents.
func (p *Picture) SVG() string {
	d := &drawing{places: map[string]rectangle{}, layers: map[string]int{}}
	y := margin + 24
	for i, l := range p.Layers {
		y = d.layer(i, l, y) + gap
	}
	for _, l := range p.Links {
		d.link(l)
	}
	for _, l := range p.Layers { // above the links
		for _, b := range l.Boxes {
			d.box(b)
		}
	}
	total, height := width+2*margin+d.lanes*lane, y-gap+margin
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n", total, height, total, height)
	fmt.Fprintf(&out, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n", drawtext.XML(p.Title), drawtext.XML(p.summary()), style)
	out.WriteString(`<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto" markerUnits="userSpaceOnUse"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker>` + "\n")
	fmt.Fprintf(&out, `<rect class="back" width="%d" height="%d"/>`+"\n", total, height)
	fmt.Fprintf(&out, `<text class="title" x="%d" y="%d">%s</text>`+"\n", margin, margin+8, drawtext.XML(p.Title))
	return out.String() + d.out.String() + "</svg>\n"
}

// layer places a layer and its boxes at y, draws its frame, and returns its end.
func (d *drawing) layer(i int, l Layer, y int) int {
	bottom := y + header
	for from := 0; from < len(l.Boxes); from += boxesARow {
		row := l.Boxes[from:min(from+boxesARow, len(l.Boxes))]
		height := 0
		for _, b := range row {
			height = max(height, 30+len(b.Lines)*lineRow)
		}
		x := margin + (width-len(row)*boxWidth-(len(row)-1)*boxGap)/2
		for _, b := range row {
			d.places[b.ID], d.layers[b.ID] = rectangle{x, bottom, boxWidth, height}, i
			x += boxWidth + boxGap
		}
		bottom += height + boxGap
	}
	d.places[l.ID], d.layers[l.ID] = rectangle{margin, y, width, bottom - y}, i
	d.line(`<rect class="layer" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, margin, y, width, bottom-y)
	d.text("name", margin+12, y+18, width-24, l.Title)
	return bottom
}

// box draws a box at its place.
func (d *drawing) box(b Box) {
	r := d.places[b.ID]
	d.line(`<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="4"/>`, r.x, r.y, r.width, r.height)
	d.text("name", r.x+10, r.y+19, r.width-20, b.Title)
	for i, line := range b.Lines {
		d.text("soft", r.x+10, r.y+19+(i+1)*lineRow, r.width-20, line)
	}
}

// link draws a link: a line between boxes, an arrow in the gap between two layers, or a lane at
// the right past the layers between them.
func (d *drawing) link(l Link) {
	from, to := d.places[l.From], d.places[l.To]
	down := d.layers[l.From] < d.layers[l.To]
	start, end := from.bottom(), to.y
	if !down {
		start, end = from.y, to.bottom()
	}
	switch distance := d.layers[l.To] - d.layers[l.From]; {
	case l.Session:
		d.line(`<path class="session" d="M%d %d L%d %d"><title>%s</title></path>`, from.middle(), start, to.middle(), end, drawtext.XML(l.Text))
	case distance == 1 || distance == -1:
		x := margin + width/2
		d.line(`<path class="link" d="M%d %d V%d" marker-end="url(#head)"/>`, x, start, end)
		d.text("soft", x+10, (start+end)/2+4, width/2-20, l.Text)
	default:
		edge := margin + width
		d.lanes++
		x := edge + d.lanes*lane
		y := to.y + to.height/2
		d.line(`<path class="link" d="M%d %d H%d V%d H%d" marker-end="url(#head)"/>`, edge, from.y+from.height/2, x, y, edge)
		d.text("soft", margin+12, from.bottom()+16, width-24, l.Text)
	}
}

// text draws a text that is shortened to a width. The whole text is the tooltip.
func (d *drawing) text(class string, x, y, room int, text string) {
	d.line(`<text class="%s" x="%d" y="%d"><title>%s</title>%s</text>`, class, x, y, drawtext.XML(text), drawtext.XML(drawtext.Shorten(text, int(float64(room)/charWidth))))
}
