package staticpod

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// TestPodNetworks lists pods whose containers run; those of kube-system come first. A pod that is
// being removed has a sandbox only.
func TestPodNetworks(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	pods := []struct{ uid, namespace, container string }{
		{"ends", "shop", "STOPPED"}, {"runs", "shop", "RUNNING"}, {"gone", "shop", ""}, {"dns", "kube-system", "RUNNING"},
	}
	tasks := "TASK PID STATUS\n"
	for i, p := range pods {
		sys.Write(t, fmt.Sprintf("/proc/%d/ns/net", 100+i), "", 0o444)
		tasks += fmt.Sprintf("sandbox-%s %d RUNNING\n", p.uid, 100+i)
		if p.container != "" {
			tasks += fmt.Sprintf("container-%s %d %s\n", p.uid, 200+i, p.container)
		}
	}
	sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
		args, out := strings.Join(cmd.Argv[5:], " "), ""
		for _, p := range pods {
			switch {
			case args == "tasks ls":
				out = tasks
			case strings.Contains(args, "kind\"==sandbox") && (p.namespace == "kube-system" || !strings.Contains(args, "kube-system")):
				out += "sandbox-" + p.uid + "\n"
			case strings.Contains(args, "kind\"==container") && strings.Contains(args, `"`+p.uid+`"`) && p.container != "":
				out += "container-" + p.uid + "\n"
			case args == "containers info sandbox-"+p.uid:
				meta := fmt.Sprintf(`{"Metadata": {"Config": {"metadata": {"uid": %q, "namespace": %q, "name": %q}}}}`, p.uid, p.namespace, p.uid)
				out = fmt.Sprintf(`{"Extensions": {"io.cri-containerd.sandbox.metadata": {"value": %q}}}`, base64.StdEncoding.EncodeToString([]byte(meta)))
			}
		}
		return engine.CommandResult{Stdout: out}, nil
	}
	got, err := PodNetworks(t.Context(), sys, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []PodNetwork{{"kube-system", "dns", sys.Path("/proc/103/ns/net")}, {"shop", "runs", sys.Path("/proc/101/ns/net")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
