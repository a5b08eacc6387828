package resolver

import (
	"testing"

	"deployer/tasks/tasktest"
)

func TestFile(t *testing.T) {
	t.Parallel()
	const stub = "nameserver 127.0.0.53\noptions edns0\n"
	for name, tt := range map[string]struct {
		host, resolved, want string
		reachable            bool
	}{
		"servers of the host":               {"nameserver 192.0.2.1\n", "", HostFile, true},
		"stub of systemd-resolved":          {stub, "nameserver 192.0.2.7\nnameserver 2001:db8::1\n", ResolvedFile, true},
		"stub, and resolved knows no other": {stub, "# none\n", HostFile, false},
		"dnsmasq":                           {"nameserver ::1\n", "", HostFile, false},
		"local resolver and another server": {"nameserver 127.0.0.1\nnameserver 192.0.2.1\n", "nameserver 192.0.2.7\n", HostFile, true},
		"no server":                         {"search example.com\n", "nameserver 192.0.2.7\n", HostFile, false},
		"file of the host is gone":          {"", "nameserver 192.0.2.7\n", ResolvedFile, true},
		"only a file without servers":       {"", "# none\n", ResolvedFile, false},
		"no file":                           {"", "", HostFile, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			if tt.host != "" {
				sys.Write(t, HostFile, tt.host, 0o644)
			}
			if tt.resolved != "" {
				sys.Write(t, ResolvedFile, tt.resolved, 0o644)
			}
			if path, servers := File(sys); path != tt.want || HasReachable(servers) != tt.reachable {
				t.Errorf("%s with %q", path, servers)
			}
			if got := tasktest.Check(t, sys, &NameServers{}).Output["file"]; got != tt.want {
				t.Errorf("the module returns %v", got)
			}
		})
	}
}
