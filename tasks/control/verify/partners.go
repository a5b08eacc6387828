package verify

import "math/rand/v2"

// allPairs is the number of pods up to which each tries every other; 10 pods
// are 90 tries. Above it each tries the next ones in a ring, so that every pod
// is tried, and some at random.
const (
	allPairs   = 10
	ringNext   = 2
	ringRandom = 3
)

// partners says which other pods each pod has to reach, by its node.
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
