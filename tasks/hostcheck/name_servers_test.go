package hostcheck

import (
	"strings"
	"testing"

	"deployer/tasks/tasktest"
)

// TestNameServers: a host is refused when its kubelet would have no file of name servers, or when
// cluster DNS would have no server in it.
func TestNameServers(t *testing.T) {
	t.Parallel()
	const hostFile, resolved, own = "/etc/resolv.conf", "/run/systemd/resolve/resolv.conf", "/etc/own.conf"
	servers, ownFile := Requirement{Kind: "name_servers"}, Requirement{Kind: "resolv_conf", Path: own}
	exists := Requirement{Kind: "resolv_conf"}
	for name, tt := range map[string]struct {
		r     Requirement
		files map[string]string
		want  string // part of the problem; empty: there is none
	}{
		"servers of the host":           {servers, map[string]string{hostFile: "nameserver 192.0.2.1\n"}, ""},
		"no server":                     {servers, map[string]string{hostFile: ""}, ""},
		"only a local resolver":         {servers, map[string]string{hostFile: "nameserver 127.0.0.53\n"}, "has only 127.0.0.53"},
		"only systemd-resolved's":       {servers, map[string]string{resolved: "nameserver 192.0.2.1\n"}, ""},
		"no file":                       {servers, nil, "/etc/resolv.conf does not exist"},
		"no file, DNS has upstreams":    {exists, nil, "/etc/resolv.conf does not exist"},
		"local resolver with upstreams": {exists, map[string]string{hostFile: "nameserver 127.0.0.53\n"}, ""},
		"own file":                      {ownFile, map[string]string{own: "nameserver 192.0.2.1\n"}, ""},
		"own file is gone":              {ownFile, map[string]string{hostFile: "nameserver 192.0.2.1\n"}, "/etc/own.conf does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			for path, content := range tt.files {
				sys.Write(t, path, content, 0o644)
			}
			row := tt.r.look(t.Context(), sys, nil)
			if row.OK != (tt.want == "") || !strings.Contains(row.Detail, tt.want) || !row.OK && row.Fix == "" {
				t.Errorf("row %+v", row)
			}
		})
	}
}
