package main

import (
	"cmp"
	"fmt"
	"time"
)

const heading = "speakers  topology      sessions  start s  cpu s  join s  join cpu s  changed nodes  rss MB  busiest cpu s  busiest rss MB"

// topology names the sessions of a number of reflectors.
func topology(reflectors int) string {
	if reflectors == 0 {
		return "mesh"
	}
	return fmt.Sprintf("%d reflectors", reflectors)
}

// row returns the line of one cluster in the table.
func (r result) row() string {
	return fmt.Sprintf("%8d  %-12s  %8d  %7s  %5s  %6s  %10s  %13d  %6.0f  %13s  %14.1f",
		r.speakers, topology(r.reflectors), r.sessions, seconds(r.start), seconds(r.startCPU), seconds(r.join), decimals(r.joinCPU), r.changed,
		megabytes(r.rss), decimals(r.busiest.cpu), megabytes(r.busiest.rss))
}

// summary returns a line for each size, for scripts to parse, with a mesh and the lowest number of
// reflectors that were both measured.
func summary(all []result) []string {
	var out []string
	bySize := map[int][2]*result{}
	var sizes []int
	for i := range all {
		r := &all[i]
		pair, known := bySize[r.speakers]
		if !known {
			sizes = append(sizes, r.speakers)
		}
		if kind := min(r.reflectors, 1); pair[kind] == nil || cmp.Less(r.reflectors, pair[kind].reflectors) {
			pair[kind] = r
		}
		bySize[r.speakers] = pair
	}
	for _, n := range sizes {
		mesh, reflected := bySize[n][0], bySize[n][1]
		if mesh == nil || reflected == nil {
			continue
		}
		out = append(out, fmt.Sprintf("bird speakers=%d mesh_sessions=%d reflector_sessions=%d mesh_join_s=%s reflector_join_s=%s mesh_rss_mb=%.0f reflector_rss_mb=%.0f",
			n, mesh.sessions, reflected.sessions, seconds(mesh.join), seconds(reflected.join), megabytes(mesh.rss), megabytes(reflected.rss)))
	}
	return out
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }

func decimals(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }

func megabytes(n int64) float64 { return float64(n) / 1e6 }
