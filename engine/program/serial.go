package program

// Serial says how many hosts go through a play at one time: the size of the
// first batch, of the second, and so on; the last one repeats. Empty means all
// hosts at once.
type Serial []Limit

// Sizes are the sizes of the batches that so many hosts are cut into. A share
// is one of all hosts of the play, rounded down, but at least one host.
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
