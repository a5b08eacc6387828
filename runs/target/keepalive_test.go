package target

import (
	"testing"
	"time"
)

func TestKeepaliveGrowsWithHosts(t *testing.T) {
	const s = time.Second
	for hosts, want := range map[int]keepalive{
		0:      {3 * s, 15 * s, 5 * s, 15 * s},
		1:      {3 * s, 15 * s, 5 * s, 15 * s},
		1000:   {3 * s, 15 * s, 5 * s, 15 * s},
		3000:   {9 * s, 45 * s, 15 * s, 45 * s},
		50_000: {30 * s, 150 * s, 50 * s, 150 * s},
	} {
		if got := keepaliveFor(hosts); got != want {
			t.Errorf("%d hosts: %v, want %v", hosts, got, want)
		}
	}
}
