package compile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSerialOperations: the barrier of the play comes before its batches, and other
// barriers are inside of them.
func TestSerialOperations(t *testing.T) {
	p := mustCompile(t, "site.yaml", "- hosts: all\n  barrier: true\n  serial: 1\n  tasks: [{name: a, file: {path: /a}, barrier: true}]\n")
	if diff := cmp.Diff("play all\nbarrier\nbatch\nbarrier\ntask 1.play.1 a\nflush\nplay end\n", listing(p)); diff != "" {
		t.Error(diff)
	}
}

func TestSerialSizes(t *testing.T) {
	tests := map[string]struct {
		serial string
		hosts  int
		want   []int
	}{
		"none":                   {"null", 3, []int{3}},
		"a number":               {"2", 5, []int{2, 2, 1}},
		"more than there are":    {"9", 5, []int{5}},
		"a share rounds down":    {"40%", 9, []int{3, 3, 3}},
		"but is at least one":    {"5%", 3, []int{1, 1, 1}},
		"a list":                 {"[1, 5%, 25%]", 40, []int{1, 2, 10, 10, 10, 7}},
		"a list longer than all": {"[1, 2, 3, 4]", 3, []int{1, 2}},
		"no hosts":               {"1", 0, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := mustCompile(t, "site.yaml", "- hosts: all\n  serial: "+tt.serial+"\n")
			if diff := cmp.Diff(tt.want, p.Plays[0].Serial.Sizes(tt.hosts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
