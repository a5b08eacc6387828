package effects

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/staticpod"
	"deployer/tasks/tasktest"
)

const pod = "kind: Pod\nmetadata: {name: kube-proxy, namespace: kube-system}\n"

// TestObserve: the files of a host as the kubelet, containerd and systemd read them.
func TestObserve(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/kubernetes/manifests/kube-proxy.yaml", pod, 0o600)
	sys.Write(t, "/etc/kubernetes/manifests/kube-proxy.yaml~", pod, 0o600)
	sys.Write(t, "/etc/kubernetes/manifests/.kube-proxy.yaml.swp", pod, 0o600)
	sys.Write(t, "/etc/kubernetes/manifests/broken", "a: b: c", 0o600)
	sys.Mkdir(t, "/etc/kubernetes/manifests/old")
	sys.Write(t, "/etc/cni/net.d/10-deployer.conflist", `{"plugins": [{"type": "bridge"}]}`, 0o600)
	sys.Write(t, "/etc/cni/net.d/05-other.conf", `{"type": "macvlan"}`, 0o600)
	sys.Write(t, "/etc/cni/net.d/00-readme", "", 0o600)
	sys.Write(t, "/usr/lib/sysctl.d/50-a.conf", "net.ipv4.ip_forward=0\n", 0o644)
	sys.Write(t, "/etc/sysctl.d/50-a.conf", "# hides the one above\n-net.ipv4.ip_forward =  1 \n;no\n", 0o644)
	sys.Write(t, "/run/sysctl.d/60-b.conf", "net/ipv4/tcp_rmem = 1\t2 3\nnonsense\n", 0o644)
	sys.Write(t, "/proc/sys/net/ipv4/ip_forward", "1\n", 0o644)
	sys.Write(t, "/var/lib/kubelet/config.yaml", "resolvConf: /run/systemd/resolve/resolv.conf\n", 0o600)
	sys.Write(t, "/run/systemd/resolve/resolv.conf", "nameserver 192.0.2.1\n", 0o644)
	sys.Write(t, "/etc/resolv.conf", "nameserver 127.0.0.53\n", 0o644)
	sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
		if strings.Join(cmd.Argv, " ") == "nft list table ip deployer_pods" {
			return engine.CommandResult{Exit: 1, Stderr: "Error: No such file or directory"}, nil
		}
		return engine.CommandResult{}, os.ErrNotExist
	}
	c := &Checks{CNI: "10-deployer.conflist", Rules: true, Servers: true, Settings: map[string]string{"net.ipv4.ip_forward": "1", "no.such": "1"}}
	want := Observation{
		Manifests:  []staticpod.ManifestFile{{File: "broken", Pod: ""}, {File: "kube-proxy.yaml", Pod: "kube-system/kube-proxy"}, {File: "kube-proxy.yaml~", Pod: "kube-system/kube-proxy"}},
		CNI:        []CNIFile{{"05-other.conf", "macvlan"}, {"10-deployer.conflist", "bridge"}},
		RulesError: "table ip deployer_pods is not loaded",
		Settings:   []Setting{{"/etc/sysctl.d/50-a.conf", "net.ipv4.ip_forward", "1"}, {"/run/sysctl.d/60-b.conf", "net/ipv4/tcp_rmem", "1 2 3"}},
		Live:       map[string]string{"net.ipv4.ip_forward": "1"},
		Servers:    []string{"192.0.2.1"},
	}
	if diff := cmp.Diff(want, c.observe(t.Context(), sys)); diff != "" {
		t.Error(diff)
	}
}

// checking is a host in a dry run.
type checking struct{ *tasktest.System }

// CheckOnly, WouldChange and WouldCreate implement engine.DryRunView.
func (checking) CheckOnly() bool         { return true }
func (checking) WouldChange(string) bool { return false }
func (checking) WouldCreate(string) bool { return false }

// TestDryRunWaitsForNothing: a dry run starts no static pod, so it neither waits for one nor
// reports that it is missing. The rows of a survey, which waits for nothing, are the same in both.
func TestDryRunWaitsForNothing(t *testing.T) {
	t.Parallel()
	sys := checking{tasktest.New(t)}
	for within, want := range map[time.Duration]bool{0: true, time.Hour: false} {
		change, err := (&Checks{CNI: "10-deployer.conflist", Within: within}).Check(t.Context(), sys)
		if err != nil {
			t.Fatal(err)
		}
		if checks, _ := change.Output["checks"].([]any); (len(checks) > 0) != want {
			t.Errorf("within %s: %v", within, change.Output)
		}
	}
}
