package facts

import "testing"

func TestFamily(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id   string
		like []string
		want string
	}{
		{"debian", nil, "debian"},
		{"linuxmint", []string{"ubuntu", "debian"}, "debian"},
		{"rocky", []string{"rhel", "centos", "fedora"}, "redhat"},
		{"amzn", []string{"fedora"}, "redhat"},
		{"opensuse-leap", []string{"suse", "opensuse"}, "suse"},
		{"sles", []string{"suse"}, "suse"},
		{"sle-micro", []string{"suse"}, "suse"},
		{"alpine", nil, ""},
		{"", nil, ""},
	} {
		if got := Family(c.id, c.like); got != c.want {
			t.Errorf("%s like %v: %q, want %q", c.id, c.like, got, c.want)
		}
	}
}
