package effects

import (
	"slices"
	"testing"

	"deployer/tasks/tasktest"
)

// TestMissingServersFile: a kubelet whose file of name servers has disappeared starts no pod; that
// is a problem of its own, also where cluster DNS asks other servers than the host's.
func TestMissingServersFile(t *testing.T) {
	t.Parallel()
	const resolved = "/run/systemd/resolve/resolv.conf"
	for name, tt := range map[string]struct {
		config  string
		files   []string
		missing string
	}{
		"file of systemd-resolved":  {"resolvConf: " + resolved + "\n", []string{resolved}, ""},
		"systemd-resolved was gone": {"resolvConf: " + resolved + "\n", []string{"/etc/resolv.conf"}, resolved},
		"default":                   {"maxPods: 110\n", []string{"/etc/resolv.conf"}, ""},
		"default is gone":           {"maxPods: 110\n", []string{resolved}, "/etc/resolv.conf"},
		"no file is wanted":         {"resolvConf: \"\"\n", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Write(t, "/var/lib/kubelet/config.yaml", tt.config, 0o600)
			for _, f := range tt.files {
				sys.Write(t, f, "nameserver 192.0.2.1\n", 0o644)
			}
			found := (&Checks{}).observe(t.Context(), sys)
			if found.MissingServersFile != tt.missing {
				t.Errorf("missing %q", found.MissingServersFile)
			}
			rows := Rows(Checks{}, found)
			if problem := len(rows) == 1 && rows[0].Check == CheckServers && !rows[0].OK; problem != (tt.missing != "") {
				t.Errorf("rows %+v", rows)
			}
			if got := slices.Equal(found.Servers, []string{"192.0.2.1"}); got != (tt.missing == "" && tt.files != nil) {
				t.Errorf("servers %q", found.Servers)
			}
		})
	}
}
