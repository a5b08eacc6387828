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
		"apiserver: {extra_args: {event-tll: 2h}}":                    `cluster.overrides.apiserver.extra_args.event-tll: kube-apiserver v1.36.3 has no flag --event-tll; did you mean "event-ttl"?`,
		"kubelet: {extra_args: {pod-infra-container-imgae: x}}":       "kubelet v1.36.3 has no flag --pod-infra-container-imgae",
		"etcd: {extra_args: {max-request-byte: 1}}":                   `did you mean "max-request-bytes"?`,
		"scheduler: {extra_args: {v: 2}}":                             "",
		"controller_manager: {extra_args: {concurrent-gc-syncs: 30}}": "",
		"kube_proxy: {extra_args: {v: 4}}":                            "",
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

// TestEverySupportedVersionHasTables holds that deployer's own flags are in them too,
// because a cluster without overrides has no mistakes.
func TestEverySupportedVersionHasTables(t *testing.T) {
	for _, version := range cluster.SupportedKubernetes() {
		version = strings.TrimSuffix(version, ".x")
		c := resolve(t, "", "")
		if strings.Count(version, ".") == 2 {
			c.Versions.Kubernetes = version
		}
		if got := Warnings(c, all); slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "not checked") }) {
			t.Errorf("%s: %q", version, got)
		}
		if got := Check(c); len(got) > 0 {
			t.Errorf("%s: %v", version, got)
		}
	}
}

func TestWarnings(t *testing.T) {
	c := resolve(t, "kubelet: {extra_args: {max-pods: 50}}", "")
	if got := Warnings(c, all); !slices.Contains(got, "kubelet v1.36.3 calls its flag --max-pods deprecated") {
		t.Errorf("%q", got)
	}
	c.Versions.Kubernetes = "v1.99.0"
	if got := Warnings(c, all); !slices.Contains(got, "the flags of kubelet were not checked: there is no table of those of v1.99.0") || len(Check(c)) > 0 {
		t.Errorf("%q", got)
	}
}
