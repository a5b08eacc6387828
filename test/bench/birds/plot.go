package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// panel is one diagram of the plot: a figure of each cluster over its number of speakers.
type panel struct {
	title string
	value func(r result) float64
}

var panels = []panel{
	{"sessions", func(r result) float64 { return float64(r.sessions) }},
	{"processor time of the start, s", func(r result) float64 { return r.startCPU.Seconds() }},
	{"all routes after the start, s", func(r result) float64 { return r.start.Seconds() }},
	{"all routes after a node joins, s", func(r result) float64 { return r.join.Seconds() }},
	{"memory of all, MB", func(r result) float64 { return megabytes(r.rss) }},
	{"memory of the largest, MB", func(r result) float64 { return megabytes(r.busiest.rss) }},
}

// Sizes of the plot in pixels.
const (
	panelWidth, panelHeight = 300, 190
	panelColumns            = 3
	marginLeft, marginTop   = 48, 30
	marginRight             = 14
	marginBottom            = 30
	legendHeight            = 26
	labelWidth              = 22 // lowest distance of labels below a panel
)

// colors are those of the topologies, in the order of their reflectors; a dark and a light page show them.
var colors = []string{"#c2410c", "#2563eb", "#15803d", "#7c3aed"}

// plot draws the figures as SVG, with a line for each topology.
func plot(all []result) string {
	var kinds []int
	for _, r := range all {
		if !slices.Contains(kinds, r.reflectors) {
			kinds = append(kinds, r.reflectors)
		}
	}
	slices.Sort(kinds)
	rows := (len(panels) + panelColumns - 1) / panelColumns
	width, height := panelColumns*panelWidth, rows*panelHeight+legendHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	for i, kind := range kinds {
		x := marginLeft + i*130
		fmt.Fprintf(&b, `<rect x="%d" y="9" width="18" height="4" fill="%s"/><text x="%d" y="15">%s</text>`+"\n", x, color(kind), x+24, topology(kind))
	}
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%panelColumns*panelWidth, legendHeight+i/panelColumns*panelHeight)
		p.draw(&b, all, kinds)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func color(reflectors int) string { return colors[min(reflectors, len(colors)-1)] }

// draw draws one panel.
func (p panel) draw(b *strings.Builder, all []result, kinds []int) {
	right, top := 0, 0.0
	for _, r := range all {
		right, top = max(right, r.speakers), max(top, p.value(r))
	}
	top = roundUp(top)
	x := func(n int) float64 {
		return marginLeft + float64(n)/float64(max(right, 1))*(panelWidth-marginLeft-marginRight)
	}
	y := func(v float64) float64 {
		return panelHeight - marginBottom - v/top*(panelHeight-marginTop-marginBottom)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", marginLeft, marginTop-10, p.title)
	for i := range 5 {
		v := top * float64(i) / 4
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#d4d4d8"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			marginLeft, panelWidth-marginRight, y(v), y(v), marginLeft-5, y(v)+4, number(v))
	}
	last := math.Inf(-1)
	for _, r := range all {
		if at := x(r.speakers); at >= last+labelWidth {
			fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", at, panelHeight-marginBottom+15, r.speakers)
			last = at
		}
	}
	for _, kind := range kinds {
		var points []string
		for _, r := range all {
			if r.reflectors == kind {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(r.speakers), y(p.value(r))))
				fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", x(r.speakers), y(p.value(r)), color(kind))
			}
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.Join(points, " "), color(kind))
	}
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

// number formats a tick.
func number(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.4g", v), ".0") }
