package program

import "deployer/limit"

// Serial holds the sizes of the batches of a play: of the first batch, of the second, and
// so on; the last entry repeats. An empty Serial has one batch of all hosts.
type Serial []limit.Limit

// Sizes returns the sizes of the batches for a number of hosts. A share is a share of all
// hosts of the play, rounded down, and at least one host.
func (s Serial) Sizes(hosts int) []int {
	if len(s) == 0 {
		return []int{hosts}
	}
	var out []int
	for left := hosts; left > 0; left -= out[len(out)-1] {
		size := s[min(len(out), len(s)-1)].Of(hosts)
		out = append(out, min(max(size, 1), left))
	}
	return out
}
