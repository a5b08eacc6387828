package cluster_test

import (
	"fmt"
	"slices"

	"deployer/cluster"
)

// hosts returns n hosts with names such as e1 and addresses from 172.31.0.first.
func hosts(prefix string, first, n int, roles ...string) []cluster.Host {
	var out []cluster.Host
	for i := range n {
		at := first + i
		out = append(out, cluster.Host{
			Name:    fmt.Sprintf("%s%d", prefix, i+1),
			Address: fmt.Sprintf("172.31.%d.%d", at/250, at%250+1),
			Roles:   roles,
		})
	}
	return out
}

func masters(n int) []cluster.Host { return hosts("m", 10, n, "master") }

// minions returns n minions, whose addresses leave room for a thousand and differ
// from those of the masters.
func minions(n int) []cluster.Host { return hosts("n", 250, n, "minion") }

func fleet(parts ...[]cluster.Host) []cluster.Host { return slices.Concat(parts...) }
