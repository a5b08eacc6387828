package main

import (
	"slices"

	plots "deployer/test/bench/plot"
)

// panels are the diagrams of the plot: a figure of each cluster over its number of speakers.
var panels = []struct {
	title string
	value func(r result) float64
}{
	{"sessions", func(r result) float64 { return float64(r.sessions) }},
	{"processor time of the start, s", func(r result) float64 { return r.startCPU.Seconds() }},
	{"all routes after the start, s", func(r result) float64 { return r.start.Seconds() }},
	{"all routes after a node joins, s", func(r result) float64 { return r.join.Seconds() }},
	{"memory of all, MB", func(r result) float64 { return megabytes(r.rss) }},
	{"memory of the largest, MB", func(r result) float64 { return megabytes(r.busiest.rss) }},
}

// colors are those of the topologies, in the order of their reflectors.
var colors = []string{plots.Orange, plots.Blue, plots.Green, plots.Violet}

// plot draws the figures as SVG, with a line for each topology.
func plot(all []result) string {
	var kinds []int
	for _, r := range all {
		if !slices.Contains(kinds, r.reflectors) {
			kinds = append(kinds, r.reflectors)
		}
	}
	slices.Sort(kinds)
	var drawn []plots.Panel
	for _, f := range panels {
		p := plots.Panel{Title: f.title}
		for _, kind := range kinds {
			line := plots.Line{Name: topology(kind), Color: colors[min(kind, len(colors)-1)]}
			for _, r := range all {
				if r.reflectors == kind {
					line.Points = append(line.Points, plots.Point{X: float64(r.speakers), Y: f.value(r)})
				}
			}
			p.Lines = append(p.Lines, line)
		}
		drawn = append(drawn, p)
	}
	return plots.SVG(drawn, 3)
}
