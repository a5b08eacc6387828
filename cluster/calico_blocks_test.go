package cluster

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCalicoBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		cidr string
		size int
		want []string // nil: an error
	}{
		"four":              {"10.244.1.0/24", 26, []string{"10.244.1.0/26", "10.244.1.64/26", "10.244.1.128/26", "10.244.1.192/26"}},
		"the range itself":  {"10.244.1.0/26", 26, []string{"10.244.1.0/26"}},
		"IPv6":              {"fd00::/121", 122, []string{"fd00::/122", "fd00::40/122"}},
		"larger than it is": {"10.244.1.0/27", 26, nil},
		"no range":          {"10.244.1.0", 26, nil},
		"no such prefix":    {"10.244.1.0/24", 33, nil},
	} {
		blocks, err := CalicoBlocks(c.cidr, c.size)
		var got []string
		for _, b := range blocks {
			got = append(got, fmt.Sprint(b))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}
