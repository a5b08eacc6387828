package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// evictionShare returns the percentage of a file system that must be free before a
// node's kubelet accepts pods: its evictionHard for this signal if that is a percentage,
// or the kubelet's default (reserve-compute-resources and node-pressure-eviction in
// kubernetes.io/docs). A threshold in bytes counts as 0, and so does a missing threshold
// when others are set.
func evictionShare(n Node, signal string, byDefault float64) float64 {
	set, ok := n.KubeletConfig["evictionHard"].(map[string]any)
	if !ok {
		return byDefault
	}
	value, named := set[signal]
	if !named {
		if n.KubeletConfig["mergeDefaultEvictionSettings"] == true {
			return byDefault
		}
		return 0
	}
	digits, percent := strings.CutSuffix(fmt.Sprint(value), "%")
	share, err := strconv.ParseFloat(digits, 64)
	if !percent || err != nil {
		return 0
	}
	return share
}
