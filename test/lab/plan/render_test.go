package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/test/lab/plan"
)

var files = plan.Files{Dir: "/cache/lab/x"}

func layout(t *testing.T, spec plan.Spec) []plan.Host {
	t.Helper()
	hosts, err := spec.Layout()
	if err != nil {
		t.Fatal(err)
	}
	return hosts
}

const wantInventory = `cluster:
    name: lab
    kubernetes: v1.36.3
    overrides:
        containerd:
            restrict_oom_score_adj: true
        kube_proxy:
            conntrack:
                maxPerCore: 0
        kubelet:
            cgroupDriver: cgroupfs
            evictionHard:
                imagefs.available: 1Gi
                memory.available: 100Mi
                nodefs.available: 1Gi
                nodefs.inodesFree: 1%
            failCgroupV1: false
            failSwapOn: false
            featureGates:
                KubeletInUserNamespace: true
            imageGCHighThresholdPercent: 100
artifacts:
    source: /cache/artifacts-src
ssh:
    config: none
    user: root
    key: /cache/lab/x/id_ed25519
    known_hosts: /cache/lab/x/known_hosts
hosts:
    e1:
        address: 172.31.0.13
    h1:
        address: 172.31.0.14
    m1:
        address: 172.31.0.11
    n1:
        address: 172.31.0.12
roles:
    etcd:
        - e1
    master:
        - m1
    minion:
        - n1
`

func TestInventory(t *testing.T) {
	got, err := plan.Inventory(files, layout(t, plan.Spec{Name: "x", Masters: 1, Minions: 1, Etcd: 1, Hosts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantInventory, string(got)); d != "" {
		t.Error(d)
	}
}

func TestSSHConfig(t *testing.T) {
	got := string(plan.SSHConfig(files, layout(t, plan.Spec{Name: "x", Masters: 1, Minions: 1})))
	want := `Host m1
  HostName 172.31.0.11
Host n1
  HostName 172.31.0.12
Host *
  User root
  IdentityFile "/cache/lab/x/id_ed25519"
  IdentitiesOnly yes
  UserKnownHostsFile "/cache/lab/x/known_hosts"
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 10
  LogLevel ERROR
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestKnownHosts(t *testing.T) {
	h := layout(t, plan.Spec{Name: "x", Masters: 1})[0]
	got, err := plan.KnownHosts(h, "ecdsa-sha2-nistp256 AAAAE2 root@m1\nssh-ed25519 AAAAC3 root@m1\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "m1,172.31.0.11 ecdsa-sha2-nistp256 AAAAE2\nm1,172.31.0.11 ssh-ed25519 AAAAC3\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"", "\n", "cat:\n"} {
		if _, err := plan.KnownHosts(h, bad); err == nil || !strings.Contains(err.Error(), "m1") {
			t.Errorf("KnownHosts(%q): got error %v, want one that names m1", bad, err)
		}
	}
}
