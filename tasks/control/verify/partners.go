package verify

import "math/rand/v2"

// The selection of the pods that a pod must reach: all others up to allPairs pods (10
// pods: 90 connections); with more pods, the next ringNext pods in a ring, so that
// every pod is a target, and ringRandom random ones.
const (
	allPairs   = 10
	ringNext   = 2
	ringRandom = 3
)

// partners returns the pods that each pod must reach, by the node of the pod.
func partners(pods []running) map[string][]running {
	out := map[string][]running{}
	n := len(pods)
	for i, p := range pods {
		chosen := map[int]bool{i: true}
		pick := func(j int) {
			if !chosen[j] {
				chosen[j] = true
				out[p.node] = append(out[p.node], pods[j])
			}
		}
		if n <= allPairs {
			for j := range n {
				pick(j)
			}
			continue
		}
		for d := range ringNext {
			pick((i + d + 1) % n)
		}
		for range ringRandom {
			pick(rand.IntN(n))
		}
	}
	return out
}
