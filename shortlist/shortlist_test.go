package shortlist_test

import (
	"testing"

	"deployer/shortlist"
)

func TestShortlist(t *testing.T) {
	for _, tt := range []struct {
		list         []string
		names, texts string
	}{
		{nil, "", ""},
		{[]string{"a"}, "a", "a"},
		{[]string{"a", "b"}, "a, b", "a; b"},
		{[]string{"a", "b", "c"}, "a, b and 1 more", "a; b; and 1 more"},
		{[]string{"a", "b", "c", "d"}, "a, b and 2 more", "a; b; and 2 more"},
	} {
		if got := shortlist.Names(tt.list, 2); got != tt.names {
			t.Errorf("names of %v: %q, want %q", tt.list, got, tt.names)
		}
		if got := shortlist.Texts(tt.list, 2); got != tt.texts {
			t.Errorf("texts of %v: %q, want %q", tt.list, got, tt.texts)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 hosts", 1: "1 host", 2: "2 hosts", 1000: "1000 hosts"} {
		if got := shortlist.Count(n, "host"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
