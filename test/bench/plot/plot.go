// Package plot draws the figures of benchmarks as SVG: panels with lines over a number, such as that of
// nodes.
package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Point is a figure y at a number x, 0 or more.
type Point struct{ X, Y float64 }

// Line is one line of a panel. Lines of the same name in several panels are one entry of the legend,
// with the color of the first.
type Line struct {
	Name   string
	Color  string // as SVG has it; a dark and a light page must show it on white
	Points []Point
}

// Panel is one diagram.
type Panel struct {
	Title string
	Lines []Line
	Log   bool // the vertical axis is logarithmic; figures of 0 are left out
}

// The colors of lines; a dark and a light page show them.
const (
	Orange = "#c2410c"
	Blue   = "#2563eb"
	Green  = "#15803d"
	Violet = "#7c3aed"
)

// Sizes in pixels.
const (
	panelWidth, panelHeight = 300, 190
	marginLeft, marginTop   = 48, 30
	marginRight             = 14
	marginBottom            = 30
	legendHeight            = 26
	legendWidth             = 130 // of one entry
	labelWidth              = 22  // lowest distance of labels below a panel
)

// SVG draws panels in rows of some columns, below a legend.
func SVG(panels []Panel, columns int) string {
	rows := (len(panels) + columns - 1) / columns
	perRow := max((columns*panelWidth-marginLeft)/legendWidth, 1)
	legend := legendOf(panels)
	top := legendHeight * max((len(legend)+perRow-1)/perRow, 1)
	width, height := columns*panelWidth, rows*panelHeight+top
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	for i, l := range legend {
		x, y := marginLeft+i%perRow*legendWidth, i/perRow*legendHeight
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="18" height="4" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", x, y+9, l.Color, x+24, y+15, l.Name)
	}
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%columns*panelWidth, top+i/columns*panelHeight)
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// legendOf returns one line of each name, in the order in which they come first.
func legendOf(panels []Panel) []Line {
	var legend []Line
	for _, p := range panels {
		for _, l := range p.Lines {
			if !slices.ContainsFunc(legend, func(other Line) bool { return other.Name == l.Name }) {
				legend = append(legend, l)
			}
		}
	}
	return legend
}

// draw draws one panel.
func (p Panel) draw(b *strings.Builder) {
	right, axis := 0.0, p.axis()
	var labels []float64
	for _, l := range p.Lines {
		for _, at := range l.Points {
			right = max(right, at.X)
			labels = append(labels, at.X)
		}
	}
	slices.Sort(labels)
	x := func(n float64) float64 {
		return marginLeft + n/max(right, 1)*(panelWidth-marginLeft-marginRight)
	}
	y := func(v float64) float64 {
		return panelHeight - marginBottom - axis.share(v)*(panelHeight-marginTop-marginBottom)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", marginLeft, marginTop-10, p.Title)
	for _, v := range axis.ticks() {
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#d4d4d8"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			marginLeft, panelWidth-marginRight, y(v), y(v), marginLeft-5, y(v)+4, number(v))
	}
	last := math.Inf(-1)
	for _, label := range slices.Compact(labels) {
		if at := x(label); at >= last+labelWidth {
			fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, panelHeight-marginBottom+15, number(label))
			last = at
		}
	}
	for _, l := range p.Lines {
		var points []string
		for _, at := range l.Points {
			if p.Log && at.Y <= 0 {
				continue
			}
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(at.X), y(at.Y)))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", x(at.X), y(at.Y), l.Color)
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.Join(points, " "), l.Color)
	}
}

// axis is a vertical axis from bottom to top.
type axis struct {
	bottom, top float64
	log         bool
}

// axis returns an axis that has room for all figures.
func (p Panel) axis() axis {
	low, high := math.Inf(1), 0.0
	for _, l := range p.Lines {
		for _, at := range l.Points {
			high = max(high, at.Y)
			if at.Y > 0 {
				low = min(low, at.Y)
			}
		}
	}
	if !p.Log || high == 0 {
		return axis{top: roundUp(high)}
	}
	return axis{bottom: math.Pow(10, math.Floor(math.Log10(low))), top: math.Pow(10, math.Ceil(math.Log10(high*1.0001))), log: true}
}

// share returns the place of a value on the axis: 0 at the bottom, 1 at the top.
func (a axis) share(v float64) float64 {
	if a.log {
		return math.Log10(v/a.bottom) / math.Log10(a.top/a.bottom)
	}
	return v / a.top
}

// ticks returns the values with a label: powers of ten, or four equal steps.
func (a axis) ticks() (all []float64) {
	if a.log {
		for v := a.bottom; v <= a.top*1.0001; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	for i := range 5 {
		all = append(all, a.top*float64(i)/4)
	}
	return all
}

// roundUp returns the next of 1, 2, 4 and 8 times a power of ten.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 4, 8} {
		if v <= f*unit {
			return f * unit
		}
	}
	return 10 * unit
}

// number formats a label.
func number(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.4g", v), ".0") }
