package cri

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"deployer/tasks/tasktest"
)

// podsOf returns a runtime with two pods of bgp's network, one of Calico's, one in the network of the
// host, and one of bgp's that has ended.
func podsOf() *runtime {
	sandbox := func(id string, state runtimeapi.PodSandboxState) *runtimeapi.PodSandbox {
		return &runtimeapi.PodSandbox{Id: id, Metadata: &runtimeapi.PodSandboxMetadata{Name: "pod-" + id}, State: state}
	}
	ready := runtimeapi.PodSandboxState_SANDBOX_READY
	return &runtime{pods: []*runtimeapi.PodSandbox{
		sandbox("b2", ready), sandbox("b1", ready), sandbox("c1", ready), sandbox("host", ready),
		sandbox("ended", runtimeapi.PodSandboxState_SANDBOX_NOTREADY),
	}}
}

func TestEnded(t *testing.T) {
	for name, c := range map[string]struct {
		module *Ended
		config string // file name of the present configuration, whose network is k8s-pod-network
		want   []string
	}{
		"by name":                            {&Ended{Network: "deployer"}, "", []string{"pod-b1", "pod-b2"}},
		"a name with hyphens":                {&Ended{Network: "k8s-pod-network"}, "", []string{"pod-c1"}},
		"a network that no pod has":          {&Ended{Network: "other"}, "", nil},
		"all but the present one":            {&Ended{}, "10-calico.conflist", []string{"pod-b1", "pod-b2"}},
		"no present one":                     {&Ended{}, "", nil},
		"a file that no runtime reads":       {&Ended{}, "10-calico.conflist.bak", []string{"pod-c1"}},
		"as a gate, all but the present one": {(&Ended{Network: "deployer"}).Gate().(*Ended), "10-calico.conflist", []string{"pod-b1", "pod-b2"}},
	} {
		r := podsOf()
		sys, _ := host(t, r)
		for _, file := range []string{"deployer-b1-eth0", "deployer-b2-eth0", "deployer-ended-eth0", "k8s-pod-network-c1-eth0", "unknown"} {
			sys.Write(t, resultsDir+"/"+file, "{}", 0o600)
		}
		if c.config != "" {
			sys.Write(t, "/etc/cni/net.d/"+c.config, `{"name": "k8s-pod-network"}`, 0o600)
			sys.Write(t, "/etc/cni/net.d/20-other.conflist", `{"name": "deployer"}`, 0o600)
		}
		change := tasktest.Check(t, sys, c.module)
		if change.Needed != (len(c.want) > 0) || len(change.Effects) != len(c.want) {
			t.Errorf("%s: needed %v with %d effects, want %d pods", name, change.Needed, len(change.Effects), len(c.want))
		}
		if !change.Needed {
			continue
		}
		out, err := c.module.Apply(t.Context(), sys, change)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, out["pods"]); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if len(r.stopped) != len(c.want) || !strings.HasSuffix(r.stopped[0], " after 30 s") {
			t.Errorf("%s: containers that had time to end: %v", name, r.stopped)
		}
		if change := tasktest.Check(t, sys, c.module); change.Needed {
			t.Errorf("%s: the pods run still: %v", name, change.Effects)
		}
	}
}
