package agent

import "testing"

func TestProgramPath(t *testing.T) {
	t.Parallel()
	const system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, tt := range []struct {
		uid             int
		inherited, want string
	}{
		{0, "/home/ops/bin:/tmp:/usr/bin", system},
		{0, "", system},
		{1000, "/home/ops/bin:/usr/bin", "/home/ops/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin"},
	} {
		if got := programPath(tt.uid, tt.inherited); got != tt.want {
			t.Errorf("user %d with %q: %s, want %s", tt.uid, tt.inherited, got, tt.want)
		}
	}
}
