package container

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/test/lab/machine"
	"deployer/test/lab/plan"
)

// script returns an engine whose podman is a shell script, which gets podman's
// arguments.
func script(t *testing.T, body string) Engine {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "podman"), []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return Engine{kind: machine.Podman, host: machine.Machine{Cgroups: machine.CgroupsV2, Systemd: true}}
}

var box = Box{
	Lab: "x", Host: plan.Host{Name: "m1", Address: netip.MustParseAddr("172.31.0.11")},
	Image: "localhost/deployer-lab:1", Network: "/run/netns/deployer-lab-x.m1",
	Env: map[string]string{"B": "2", "A": "one two"},
}

func TestPodmanJoinsTheNamespaceMadeBeforehand(t *testing.T) {
	e := Engine{kind: machine.Podman}
	got := e.runArgs(box)
	want := []string{
		"--name=deployer-lab-x.m1", "--hostname=m1", "--label=deployer.lab=x",
		"--network=ns:/run/netns/deployer-lab-x.m1", "--env=A=one two", "--env=B=2",
		"--volume=deployer-lab-x.m1.containerd:/var/lib/containerd:suid,dev,exec",
		"--volume=deployer-lab-x.m1.kubelet:/var/lib/kubelet:suid,dev,exec",
		"--volume=deployer-lab-x.m1.etcd:/var/lib/etcd:suid,dev,exec",
		"localhost/deployer-lab:1",
	}
	if d := cmp.Diff(want, got[len(got)-len(want):]); d != "" {
		t.Error(d)
	}
}

func TestDockerStartsWithoutANetwork(t *testing.T) {
	got := Engine{kind: machine.Docker}.runArgs(box)
	for _, want := range []string{"--network=none", "--volume=deployer-lab-x.m1.etcd:/var/lib/etcd"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
}

func TestContainersReadsBothEnginesStates(t *testing.T) {
	e := script(t, `cat <<'X'
deployer-lab-a.m1 Up 3 seconds
deployer-lab-a.m2 running
deployer-lab-a-b.m1 Exited (137) 1 second ago
deployer-lab-a-b.m2 created
strange running
X`)
	got, err := e.Containers(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []Found{
		{"deployer-lab-a.m1", "a", true}, {"deployer-lab-a.m2", "a", true},
		{"deployer-lab-a-b.m1", "a-b", false}, {"deployer-lab-a-b.m2", "a-b", false},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestVolumesLeavesOthersAlone(t *testing.T) {
	e := script(t, "echo deployer-lab-a.m1.etcd; echo postgres; echo deployer-lab")
	got, err := e.Volumes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"deployer-lab-a.m1.etcd"}, got); d != "" {
		t.Error(d)
	}
}

func TestRemoveOfNothingCallsNobody(t *testing.T) {
	e := script(t, "echo called >&2; exit 1")
	if err := e.Remove(context.Background()); err != nil {
		t.Error(err)
	}
	if err := e.RemoveVolumes(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestKillLeavesAStoppedContainerAlone(t *testing.T) {
	e := script(t, `case "$1" in container) echo false;; *) echo "$1 called" >&2; exit 1;; esac`)
	if err := e.Kill(context.Background(), "deployer-lab-x.m1"); err != nil {
		t.Error(err)
	}
}

func TestErrorsShowTheCommandAndItsWords(t *testing.T) {
	e := script(t, "echo Error: no such container >&2; exit 125")
	_, err := e.Running(context.Background(), "deployer-lab-x.m1")
	if err == nil || !strings.Contains(err.Error(), "podman container inspect") || !strings.Contains(err.Error(), "no such container") {
		t.Errorf("got %v", err)
	}
}

func TestHasImage(t *testing.T) {
	for code, want := range map[string]bool{"0": true, "1": false} {
		e := script(t, "exit "+code)
		got, err := e.HasImage(context.Background(), "x")
		if got != want || err != nil {
			t.Errorf("exit code %s: got %v, %v", code, got, err)
		}
	}
}
