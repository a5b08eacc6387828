package componentconfig

import (
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

func all(string, string, string) bool { return true }

func TestFlags(t *testing.T) {
	for overrides, want := range map[string]string{
		"apiserver: {extra_args: {event-tll: 2h}}":                                              `cluster.overrides.apiserver.extra_args.event-tll: kube-apiserver v1.36.3 has no flag --event-tll; did you mean "event-ttl"?`,
		"kubelet: {extra_args: {pod-infra-container-imgae: x}}":                                 "kubelet v1.36.3 has no flag --pod-infra-container-imgae",
		"etcd: {extra_args: {max-request-byte: 1}}":                                             `did you mean "max-request-bytes"?`,
		"etcd: {extra_args: {quota-backend-bytes: 8G}}":                                         `cluster.overrides.etcd.extra_args.quota-backend-bytes: "8G" is not a whole number: etcd v3.6.8 would not start`,
		"etcd: {extra_args: {quota-backend-bytes: 8589934592}}":                                 "",
		"etcd: {extra_args: {max-txn-ops: -1}}":                                                 `"-1" is not a whole number of at least 0`,
		"etcd: {extra_args: {max-concurrent-streams: 4294967296}}":                              `"4294967296" is not a whole number from 0 to 4294967295`,
		"etcd: {extra_args: {heartbeat-interval: 200ms}}":                                       `"200ms" is not a whole number`,
		"etcd: {extra_args: {corrupt-check-time: 60}}":                                          `"60" is not a duration such as 500ms or 2h`,
		"etcd: {extra_args: {corrupt-check-time: 4h}}":                                          "",
		"etcd: {extra_args: {pre-vote: maybe}}":                                                 `"maybe" is not true or false`,
		"etcd: {extra_args: {auto-compaction-mode: hourly}}":                                    `"hourly" is not one of periodic, revision`,
		"etcd: {extra_args: {log-level: verbose}}":                                              `"verbose" is not one of debug, info`,
		"scheduler: {extra_args: {v: 2}}":                                                       "",
		"controller_manager: {extra_args: {concurrent-gc-syncs: 30}}":                           "",
		"apiserver: {extra_args: {event-ttl: 2 hours}}":                                         `cluster.overrides.apiserver.extra_args.event-ttl: "2 hours" is not a duration such as 500ms or 2h: kube-apiserver v1.36.3 would not start`,
		"apiserver: {extra_args: {goaway-chance: some}}":                                        `"some" is not a number`,
		"kubelet: {extra_args: {max-pods: many}}":                                               `"many" is not a whole number`,
		"scheduler: {extra_args: {profiling: maybe}}":                                           `"maybe" is not true or false`,
		"etcd: {extra_args: {quota-backend-bytes: 17179869184}}":                                `"17179869184" is not from 0 to 8589934592`,
		"kubelet: {extra_args: {node-labels: 'disk=ssd,node.kubernetes.io/instance-type=big'}}": "",
		"kubelet: {extra_args: {node-labels: 'node-role.kubernetes.io/worker='}}":               "a kubelet must not set the label node-role.kubernetes.io/worker and would not start: write it into labels",
		"kubelet: {extra_args: {node-labels: 'disk=a b'}}":                                      `"disk=a b" is not a label of Kubernetes`,
		"kube_proxy: {extra_args: {v: 4}}":                                                      "",
	} {
		got := Check(resolve(t, overrides, ""))
		switch {
		case want == "" && len(got) > 0, want != "" && len(got) != 1:
			t.Errorf("%s: %v", overrides, got)
		case want != "" && !strings.Contains(got[0].Key()+": "+got[0].Message, want):
			t.Errorf("%s:\n got %s: %s\nwant %s", overrides, got[0].Key(), got[0].Message, want)
		}
	}
}

// TestEverySupportedVersionHasTables checks that the tables also have deployer's own
// flags, because a cluster without overrides has no invalid values.
func TestEverySupportedVersionHasTables(t *testing.T) {
	for _, minor := range cluster.SupportedKubernetes() {
		c := resolveVersion(t, minor+".0")
		if got := Warnings(c, all); slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "not checked") }) {
			t.Errorf("%s: %q", minor, got)
		}
		if got := Check(c); len(got) > 0 {
			t.Errorf("%s: %v", minor, got)
		}
	}
}

// resolveVersion resolves a cluster of a Kubernetes version, which may be unknown.
func resolveVersion(t *testing.T, kubernetes string) *cluster.Cluster {
	t.Helper()
	hosts := []cluster.Host{{Name: "m1", Address: "10.0.0.1", Roles: []string{"master"}}, {Name: "n1", Address: "10.0.0.2", Roles: []string{"minion"}}}
	c, err := cluster.Resolve(cluster.Spec{Kubernetes: kubernetes, AllowUntested: true}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFlagsOfHostVersion checks the flags of a host against the table of the version
// that the host is to run.
func TestFlagsOfHostVersion(t *testing.T) {
	const flag = "concurrent-resourceclaim-syncs" // since v1.36
	check := func(version string) []InvalidValue {
		c, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{
			{Name: "m1", Address: "10.0.0.1", Roles: []string{"master"}},
			{Name: "m2", Address: "10.0.0.2", Roles: []string{"master"}, Overrides: map[string]any{
				"controller_manager": map[string]any{"version": version, "extra_args": map[string]any{flag: "1"}}}},
			{Name: "m3", Address: "10.0.0.3", Roles: []string{"master"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return Check(c)
	}
	if got := check("v1.36.3"); len(got) > 0 {
		t.Errorf("v1.36.3: %v", got)
	}
	if got := check("v1.35.4"); len(got) != 1 || got[0].Host != "m2" || !strings.Contains(got[0].Message, "kube-controller-manager v1.35.4 has no flag --"+flag) {
		t.Errorf("v1.35.4: %v", got)
	}
}

func TestWarnings(t *testing.T) {
	c := resolve(t, "kubelet: {extra_args: {max-pods: 50}}", "")
	if got := Warnings(c, all); !slices.Contains(got, "kubelet v1.36.3 calls its flag --max-pods deprecated") {
		t.Errorf("%q", got)
	}
	c = resolveVersion(t, "v1.99.0")
	if got := Warnings(c, all); !slices.Contains(got, "the flags of kubelet were not checked: there is no table of those of v1.99.0") || len(Check(c)) > 0 {
		t.Errorf("%q", got)
	}
}
