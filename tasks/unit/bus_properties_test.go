package unit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObjectPath(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nginx.service":            "nginx_2eservice",
		"bench-1.service":          "bench_2d1_2eservice",
		"8021x@eth0.service":       "_38021x_40eth0_2eservice",
		`dev-disk-by\x2duuid.swap`: "dev_2ddisk_2dby_5cx2duuid_2eswap",
	} {
		if got := object(name); got != "/org/freedesktop/systemd1/unit/"+want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestPropertyText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v    any
		want string
	}{
		{"active", "active"}, {true, "yes"}, {false, "no"}, {uint64(1 << 40), "1099511627776"}, {uint32(4711), "4711"}, {nil, ""},
		{[]byte{0, 171, 255}, "00abff"}, {[]byte{}, ""}, {[]string{"/a.conf", "/b.conf"}, "/a.conf /b.conf"}, {[]string{}, ""},
		{[]any{"", ""}, ""}, {[]any{"org.x.Y", "why"}, "org.x.Y why"},
	} {
		if diff := cmp.Diff(tt.want, inWords(tt.v)); diff != "" {
			t.Errorf("%v: %s", tt.v, diff)
		}
	}
}
