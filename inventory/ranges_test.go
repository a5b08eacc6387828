package inventory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpand(t *testing.T) {
	for text, want := range map[string][]string{
		"n1":                {"n1"},
		"n[1:3]":            {"n1", "n2", "n3"},
		"n[008:10]x":        {"n008x", "n009x", "n010x"},
		"n[9:11]":           {"n9", "n10", "n11"},
		"n[0:6:3]":          {"n0", "n3", "n6"},
		"r[1:2]n[1:2]":      {"r1n1", "r1n2", "r2n1", "r2n2"},
		"10.[0:1].0.[9:10]": {"10.0.0.9", "10.0.0.10", "10.1.0.9", "10.1.0.10"},
		"fd00::[1:2]":       {"fd00::1", "fd00::2"},
		"n[5:5]":            {"n5"},
	} {
		got, err := Expand(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{"n[", "n]", "n[1]", "n[a:b]", "n[2:1]", "n[1:2:0]", "n[1:10001]", "[1:101][1:101]", "n[[1:2]]", "n[1:2][", "n[1:99999999999]"} {
		if got, err := Expand(text); err == nil {
			t.Errorf("%s: no error, got %d names", text, len(got))
		}
	}
}

func TestCompress(t *testing.T) {
	for _, c := range []struct{ names, want string }{
		{"", ""}, {"a", "a"}, {"n1 n2 n3", "n[1:3]"}, {"n1 n3 n4 x", "n1 n[3:4] x"}, {"n09 n10 n11", "n[09:11]"},
		{"n9 n10", "n[9:10]"}, {"n2 n1", "n2 n1"}, {"n1 n1", "n1 n1"}, {"n1 n02", "n1 n02"}, {"x y", "x y"},
	} {
		if got := strings.Join(Compress(strings.Fields(c.names)), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.names, got, c.want)
		}
	}
}

// TestCompressRoundTrip: expanding a compressed list of names returns the list.
func TestCompressRoundTrip(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var names []string
		for range r.IntN(8) {
			head := []string{"n", "m", "rack1-", "", "x9y"}[r.IntN(5)]
			width, start := r.IntN(4), r.IntN(1200)
			for i := range 1 + r.IntN(5) {
				names = append(names, fmt.Sprintf("%s%0*d", head, width, start+i*(1+r.IntN(2))))
			}
		}
		var back []string
		for _, c := range Compress(names) {
			out, err := Expand(c)
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, c, err)
			}
			back = append(back, out...)
		}
		if !slices.Equal(names, back) {
			t.Fatalf("seed %d: %v became %v", seed, names, back)
		}
	}
}

// TestByNumber: names with consecutive numbers are neighbours, whatever their order
// was.
func TestByNumber(t *testing.T) {
	names := []string{"n10", "n2", "m1", "db", "n1", "n002", "n3"}
	slices.SortFunc(names, ByNumber)
	if got := strings.Join(names, " "); got != "db m1 n1 n002 n2 n3 n10" {
		t.Error(got)
	}
}
