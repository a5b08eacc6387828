package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/test/lab/plan"
)

func labOf(t *testing.T) []plan.Host {
	t.Helper()
	hosts, err := plan.Spec{Name: "t", Masters: 3, Minions: 2}.Layout()
	if err != nil {
		t.Fatal(err)
	}
	return hosts
}

func TestInitConfigHasTheLabsOverridesAndOurVersions(t *testing.T) {
	m := &material{versions: map[string]string{"etcd": "v3.6.8", "coredns": "v1.14.7"}}
	o := overrides{Kubelet: map[string]any{"cgroupDriver": "cgroupfs"}, KubeProxy: map[string]any{"conntrack": map[string]any{"maxPerCore": 0}}}
	content, err := initConfig(labOf(t)[0], m, o, newSecrets())
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]map[string]any{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		document := map[string]any{}
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kinds[document["kind"].(string)] = document
	}
	if len(kinds) != 4 {
		t.Fatalf("documents %v", kinds)
	}
	if got := kinds["KubeletConfiguration"]["cgroupDriver"]; got != "cgroupfs" {
		t.Errorf("cgroupDriver %v", got)
	}
	local := kinds["ClusterConfiguration"]["etcd"].(map[string]any)["local"].(map[string]any)
	if local["imageTag"] != "v3.6.8" {
		t.Errorf("etcd %v", local)
	}
}

func TestSecretsHaveKubeadmsForms(t *testing.T) {
	s := newSecrets()
	id, secret, ok := strings.Cut(s.token, ".")
	if !ok || len(id) != 6 || len(secret) != 16 || len(s.certificateKey) != 64 {
		t.Errorf("token of %d and %d characters, key of %d", len(id), len(secret), len(s.certificateKey))
	}
}

func TestPodRangesAreApartAndRoutesLeadToTheOthers(t *testing.T) {
	hosts := labOf(t)
	seen := map[netip.Prefix]bool{}
	for i := range hosts {
		if seen[podRange(i)] {
			t.Errorf("range %s twice", podRange(i))
		}
		seen[podRange(i)] = true
		lines := routes(i, hosts)
		if len(lines) != len(hosts)-1 {
			t.Errorf("host %d has %d routes", i, len(lines))
		}
		if strings.Contains(strings.Join(lines, "\n"), podRange(i).String()) {
			t.Errorf("host %d routes its own range away", i)
		}
	}
}

func TestConfigFiles(t *testing.T) {
	m := &material{pause: "registry.k8s.io/pause:3"}
	files, err := configFiles(1, m, overrides{Containerd: map[string]any{"restrict_oom_score_adj": true}})
	if err != nil {
		t.Fatal(err)
	}
	toml := string(files["/etc/containerd/config.toml"])
	for _, want := range []string{`sandbox = "registry.k8s.io/pause:3"`, "\n  restrict_oom_score_adj = true\n"} {
		if !strings.Contains(toml, want) {
			t.Errorf("containerd's configuration lacks %q:\n%s", want, toml)
		}
	}
	var network struct {
		Plugins []struct{ Type string }
	}
	if err := json.Unmarshal(files["/etc/cni/net.d/10-bridge.conflist"], &network); err != nil || len(network.Plugins) != 2 {
		t.Errorf("%v %v", network, err)
	}
}
