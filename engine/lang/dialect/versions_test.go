package dialect

import "testing"

func TestVersionCompare(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1.9", "1.10", -1}, {"1.10", "1.10", 0}, {"1.2", "1.2.0", 0}, {"1.2.1", "1.2", 1}, {"v1.36.3", "1.36.3", 0},
		{"1.36.0-rc.1", "1.36.0", -1}, {"1.36.0-rc.1", "1.36.0-rc.2", -1}, {"24.04", "22.10", 1}, {"12", "9", 1},
		{"5.10.0-30-amd64", "5.10", 1}, {"1:2.3-1ubuntu4", "1:2.3-1", 1}, {"", "1", -1},
		{"99999999999999999999", "1", 1},
	} {
		if got := VersionCompare(c.a, c.b); got != c.want {
			t.Errorf("VersionCompare(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := VersionCompare(c.b, c.a); got != -c.want {
			t.Errorf("VersionCompare(%q, %q) = %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}
