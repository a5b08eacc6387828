package roles_test

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/tasks/resolver"
	"deployer/tasks/tasktest"
)

// TestKubeletGetsReachableNameServers: on a host whose resolver listens on a loopback address the
// kubelet gives pods the servers that the resolver asks; the rest of its configuration stays.
func TestKubeletGetsReachableNameServers(t *testing.T) {
	s := newSite(t, "nginx")
	const file, key = "/var/lib/kubelet/config.yaml", "resolvConf: /run/systemd/resolve/resolv.conf\n"
	before := s.files(t, "n1")[file]
	if strings.Contains(before, "resolvConf") || !strings.Contains(before, "staticPodPath") {
		t.Fatalf("with reachable servers:\n%s", before)
	}
	s.found["name_servers_found"] = map[string]any{"file": "/run/systemd/resolve/resolv.conf", "servers": []any{"192.0.2.1"}}
	after := s.files(t, "n1")[file]
	if !strings.Contains(after, key) || strings.Replace(after, key, "", 1) != before {
		t.Errorf("with the stub of systemd-resolved:\n%s", after)
	}
}

// TestKubeletGetsNameServersThatExist: when the file with name servers has disappeared, the next
// run gives the kubelet the other one, and the unit restarts because its configuration is newer.
func TestKubeletGetsNameServersThatExist(t *testing.T) {
	s := newSite(t, "nginx")
	for _, file := range []string{resolver.HostFile, resolver.ResolvedFile} {
		sys := tasktest.New(t)
		sys.Write(t, file, "nameserver 192.0.2.1\n", 0o644)
		s.found["name_servers_found"] = map[string]any(tasktest.Check(t, sys, &resolver.NameServers{}).Output)
		conf := struct {
			ResolvConf string `yaml:"resolvConf"`
		}{resolver.HostFile} // the kubelet's default
		if err := yaml.Unmarshal([]byte(s.files(t, "n1")["/var/lib/kubelet/config.yaml"]), &conf); err != nil {
			t.Fatal(err)
		}
		if conf.ResolvConf != file {
			t.Errorf("the kubelet reads %s, only %s exists", conf.ResolvConf, file)
		}
	}
}
