package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/cluster"

	"github.com/google/go-cmp/cmp"
)

func TestFlags(t *testing.T) {
	args := func(m map[string]any) map[string]any { return map[string]any{"extra_args": m} }
	spec := cluster.Spec{Overrides: map[string]any{
		"apiserver": args(map[string]any{
			"profiling": true, "goaway-chance": nil, "v": 2, "tls-sni-cert-key": []any{"a,b", "c,d"}, "request-timeout": "30s",
		}),
		"scheduler": args(map[string]any{"v": 4}),
	}}
	hosts := masters(3)
	hosts[1].Overrides = map[string]any{"apiserver": args(map[string]any{"v": 9, "request-timeout": nil}), "scheduler": args(map[string]any{"v": nil})}
	c := mustResolve(t, spec, hosts)
	first, second := c.Nodes["m1"].Args, c.Nodes["m2"].Args
	for _, want := range []string{"--profiling=true", "--v=2", "--tls-sni-cert-key=a,b", "--tls-sni-cert-key=c,d", "--request-timeout=30s"} {
		if !slices.Contains(first.APIServer, want) {
			t.Errorf("m1 lacks %s", want)
		}
	}
	if slices.Contains(first.APIServer, "--goaway-chance=0.001") {
		t.Error("a null did not remove the flag")
	}
	if !slices.Contains(second.APIServer, "--v=9") || slices.ContainsFunc(second.APIServer, func(a string) bool { return strings.HasPrefix(a, "--request-timeout") }) {
		t.Errorf("m2 does not have its own flags: %v", second.APIServer)
	}
	if slices.Contains(second.Scheduler, "--v=4") || !slices.Contains(first.Scheduler, "--v=4") {
		t.Error("a host's null removes the cluster's flag on that host only")
	}
	for _, list := range [][]string{first.APIServer, first.ControllerManager, first.Scheduler, first.Etcd, first.Kubelet} {
		if !slices.IsSortedFunc(list, func(a, b string) int { return strings.Compare(flagName(a), flagName(b)) }) {
			t.Errorf("flags are not sorted: %v", list)
		}
	}
}

func flagName(arg string) string {
	name, _, _ := strings.Cut(arg, "=")
	return name
}

func TestComponentConfiguration(t *testing.T) {
	spec := cluster.Spec{Overrides: map[string]any{
		"kubelet": map[string]any{"cgroupDriver": "cgroupfs", "authentication": map[string]any{"webhook": map[string]any{"cacheTTL": "10s"}}, "tlsMinVersion": nil},
	}}
	n := mustResolve(t, spec, masters(1)).Nodes["m1"]
	auth := n.KubeletConfig["authentication"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"enabled": true, "cacheTTL": "10s"}, auth["webhook"]); diff != "" {
		t.Errorf("webhook (-want +got):\n%s", diff)
	}
	if _, has := n.KubeletConfig["tlsMinVersion"]; has {
		t.Error("a null did not remove the setting")
	}
}

// TestPodLimitsOfKubelet: pods have the runtime's filter of system calls and a limit
// of processes, and an override changes both.
func TestPodLimitsOfKubelet(t *testing.T) {
	n := mustResolve(t, cluster.Spec{}, masters(1)).Nodes["m1"]
	if n.KubeletConfig["seccompDefault"] != true || n.KubeletConfig["podPidsLimit"] != 4096 {
		t.Errorf("seccompDefault is %v and podPidsLimit %v, want true and 4096", n.KubeletConfig["seccompDefault"], n.KubeletConfig["podPidsLimit"])
	}
	spec := cluster.Spec{Overrides: map[string]any{"kubelet": map[string]any{"seccompDefault": false, "podPidsLimit": -1}}}
	n = mustResolve(t, spec, masters(1)).Nodes["m1"]
	if n.KubeletConfig["seccompDefault"] != false || n.KubeletConfig["podPidsLimit"] != -1 {
		t.Errorf("overridden, seccompDefault is %v and podPidsLimit %v", n.KubeletConfig["seccompDefault"], n.KubeletConfig["podPidsLimit"])
	}
}

func TestServicesOfVersions(t *testing.T) {
	old := mustResolve(t, cluster.Spec{Versions: cluster.Versions{Etcd: "v3.5.25"}}, masters(1)).Nodes["m1"].Args.Etcd
	if !slices.Contains(old, "--experimental-initial-corrupt-check=true") || slices.Contains(old, "--feature-gates=InitialCorruptCheck=true") {
		t.Errorf("etcd 3.5 is given flags of 3.6: %v", old)
	}
}

func TestTimesAsComponentsReadThem(t *testing.T) {
	spec := cluster.Spec{
		Etcd:  cluster.EtcdSpec{HeartbeatInterval: 250 * time.Millisecond, ElectionTimeout: 2500 * time.Millisecond},
		Proxy: cluster.ProxySpec{ConnectTimeout: 1500 * time.Millisecond, Timeout: 2 * time.Hour, FailTimeout: 90 * time.Second},
	}
	c := mustResolve(t, spec, masters(1))
	for _, want := range []string{"--heartbeat-interval=250", "--election-timeout=2500"} {
		if !slices.Contains(c.Nodes["m1"].Args.Etcd, want) {
			t.Errorf("etcd lacks %s", want)
		}
	}
	if got := []string{c.Proxy.ConnectTimeout, c.Proxy.Timeout, c.Proxy.FailTimeout}; !slices.Equal(got, []string{"1500ms", "2h", "90s"}) {
		t.Errorf("the proxy's times are %v", got)
	}
}

// TestTimesOfEtcd checks the heartbeat and the election timeout that members get: those of
// the disk's speed, unless a key or an extra argument says otherwise.
func TestTimesOfEtcd(t *testing.T) {
	arguments := func(heartbeat, election string) map[string]any {
		return map[string]any{"etcd": map[string]any{"extra_args": map[string]any{"heartbeat-interval": heartbeat, "election-timeout": election}}}
	}
	for name, tc := range map[string]struct {
		spec                cluster.Spec
		heartbeat, election string // in milliseconds
	}{
		"default":                        {cluster.Spec{}, "100", "1000"},
		"slow disks":                     {cluster.Spec{Etcd: cluster.EtcdSpec{SlowDisk: true}}, "500", "2500"},
		"slow disks and a heartbeat":     {cluster.Spec{Etcd: cluster.EtcdSpec{SlowDisk: true, HeartbeatInterval: 300 * time.Millisecond}}, "300", "2500"},
		"slow disks and an election":     {cluster.Spec{Etcd: cluster.EtcdSpec{SlowDisk: true, ElectionTimeout: 5 * time.Second}}, "500", "5000"},
		"slow disks and extra arguments": {cluster.Spec{Etcd: cluster.EtcdSpec{SlowDisk: true}, Overrides: arguments("250", "1250")}, "250", "1250"},
		"extra arguments":                {cluster.Spec{Overrides: arguments("250", "1250")}, "250", "1250"},
	} {
		args := mustResolve(t, tc.spec, masters(1)).Nodes["m1"].Args.Etcd
		got := slices.DeleteFunc(slices.Clone(args), func(a string) bool {
			return !strings.HasPrefix(a, "--heartbeat-interval=") && !strings.HasPrefix(a, "--election-timeout=")
		})
		slices.Sort(got)
		if want := []string{"--election-timeout=" + tc.election, "--heartbeat-interval=" + tc.heartbeat}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestContainerdOverrides checks that overrides reach settings that have no key, and
// settings that deployer writes itself.
func TestContainerdOverrides(t *testing.T) {
	spec := cluster.Spec{Overrides: map[string]any{
		"kubelet": map[string]any{"cgroupDriver": "cgroupfs"},
		"containerd": map[string]any{
			"restrict_oom_score_adj": true,
			"cni":                    map[string]any{"bin_dirs": []any{"/usr/lib/cni"}},
			"containerd": map[string]any{
				"default_runtime_name": "runsc",
				"runtimes":             map[string]any{"runsc": map[string]any{"runtime_type": "io.containerd.runsc.v1"}},
			},
			"images": map[string]any{"max_concurrent_downloads": 8, "snapshotter": nil},
			"root":   map[string]any{"oom_score": -500, "debug": map[string]any{"level": "warn"}},
			"runc":   map[string]any{"NoPivotRoot": true},
		},
	}}
	want := map[string]any{
		"version": 3, "root": "/var/lib/containerd", "state": "/run/containerd", "oom_score": -500,
		"debug":   map[string]any{"level": "warn"},
		"grpc":    map[string]any{"address": "/run/containerd/containerd.sock"},
		"metrics": map[string]any{"address": "127.0.0.1:1338"},
		"plugins": map[string]any{
			"io.containerd.cri.v1.images": map[string]any{
				"max_concurrent_downloads": 8,
				"registry":                 map[string]any{"config_path": "/etc/containerd/certs.d"},
			},
			"io.containerd.cri.v1.runtime": map[string]any{
				"restrict_oom_score_adj": true,
				"cni":                    map[string]any{"bin_dirs": []any{"/usr/lib/cni"}, "conf_dir": "/etc/cni/net.d"},
				"containerd": map[string]any{
					"default_runtime_name": "runsc",
					"runtimes": map[string]any{
						"runc": map[string]any{
							"runtime_type": "io.containerd.runc.v2",
							"options":      map[string]any{"BinaryName": "/usr/local/sbin/runc", "SystemdCgroup": false, "NoPivotRoot": true},
						},
						"runsc": map[string]any{"runtime_type": "io.containerd.runsc.v1"},
					},
				},
			},
		},
	}
	if diff := cmp.Diff(want, mustResolve(t, spec, masters(1)).Nodes["m1"].Containerd); diff != "" {
		t.Errorf("containerd (-want +got):\n%s", diff)
	}
}

// TestFormerDomains: the API servers accept tokens of the former domain too, issue new ones
// under the present one, and have both names; pods get the present one.
func TestFormerDomains(t *testing.T) {
	c := mustResolve(t, cluster.Spec{DNS: cluster.DNSSpec{Domain: "new.example", FormerDomains: []string{"cluster.local"}}}, masters(1))
	n := c.Nodes["m1"]
	var issuers []string
	for _, arg := range n.Args.APIServer {
		if flagName(arg) == "--service-account-issuer" {
			issuers = append(issuers, arg)
		}
	}
	want := []string{"--service-account-issuer=https://kubernetes.default.svc.new.example", "--service-account-issuer=https://kubernetes.default.svc.cluster.local"}
	if diff := cmp.Diff(want, issuers); diff != "" {
		t.Error(diff)
	}
	if n.KubeletConfig["clusterDomain"] != "new.example" {
		t.Errorf("pods get the domain %v", n.KubeletConfig["clusterDomain"])
	}
	for _, cert := range n.Certificates {
		if cert.Name != "apiserver" {
			continue
		}
		for _, name := range []string{"kubernetes.default.svc.new.example", "kubernetes.default.svc.cluster.local"} {
			if !slices.Contains(cert.DNS, name) {
				t.Errorf("the certificate of the API server lacks %s: %v", name, cert.DNS)
			}
		}
		return
	}
	t.Error("there is no certificate of the API server")
}
