package staticpod

import (
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// mounting is a manifest with a directory of keys.
const mounting = `metadata: {name: kube-apiserver, namespace: kube-system, annotations: {deployer/hash: new}}
spec:
  containers:
  - name: kube-apiserver
    volumeMounts: [{name: pki, mountPath: /keys of it}, {name: hosts, mountPath: /etc/hosts}]
  volumes:
  - {name: pki, hostPath: {path: /etc/kubernetes/pki/apiserver}}
  - {name: hosts, hostPath: {path: /etc/hosts}}
  - {name: tmp, emptyDir: {}}
`

const (
	mountedKeys   = "90 80 8:1 /etc/kubernetes/pki/apiserver /keys\\040of\\040it ro - ext4 /dev/sda1 rw\n"
	deletedKeys   = "90 80 8:1 /etc/kubernetes/pki/apiserver//deleted /keys\\040of\\040it ro - ext4 /dev/sda1 rw\n"
	replacedHosts = "91 80 8:1 /etc/hosts//deleted /etc/hosts ro - ext4 /dev/sda1 rw\n"
)

// TestDeletedDirectoryRestartsTheContainer: a container that has the deleted directory of its
// keys mounted is ended once the directory is there again, and the step waits for another one.
func TestDeletedDirectoryRestartsTheContainer(t *testing.T) {
	t.Parallel()
	sys, k := host(t)
	sys.Write(t, manifestPath, mounting, 0o600)
	sys.Write(t, "/etc/hosts", "", 0o644)
	k.set(pod{"u1", "new", "RUNNING"})
	r := &Ready{Manifest: manifestPath, Timeout: 20 * time.Second}

	for name, mounts := range map[string]string{"as it was": mountedKeys, "a file that a package replaced": mountedKeys + replacedHosts, "not made again": deletedKeys} {
		sys.Write(t, "/proc/42/mountinfo", mounts, 0o444)
		if change := tasktest.Check(t, sys, r); change.Needed {
			t.Errorf("%s: %+v", name, change)
		}
	}
	sys.Write(t, "/proc/42/mountinfo", deletedKeys, 0o444)
	planned, err := r.Check(t.Context(), dryRun{sys, []string{"/etc/kubernetes/pki/apiserver"}})
	if err != nil || len(planned.Pending()) != 1 {
		t.Fatalf("a dry run in which an earlier step makes the directory: %+v, %v", planned, err)
	}
	if change, err := r.Check(t.Context(), dryRun{sys, []string{"/etc/kubernetes/pki/apiserver", manifestPath}}); err != nil || len(change.Pending()) > 0 {
		t.Errorf("a dry run that replaces the pod: %+v, %v", change, err)
	}

	sys.Mkdir(t, "/etc/kubernetes/pki/apiserver")
	change := tasktest.Check(t, sys, r)
	if got := tasktest.Actions(change); !slices.Equal(got, []string{"static pod kube-apiserver: restart: it has the deleted /etc/kubernetes/pki/apiserver mounted"}) {
		t.Fatalf("actions %q", got)
	}
	if err := (&engine.Expect{Effects: []string{planned.Effects[0].Fingerprint()}}).Allows(change); err != nil {
		t.Errorf("the plan of the dry run: %v", err)
	}
	var sent []string
	k.signal = func(args string) {
		sent = append(sent, args)
		sys.Write(t, "/proc/42/mountinfo", mountedKeys, 0o444) // of the next container
	}
	if _, err := r.Apply(t.Context(), sys, change); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(sent, "; "); got != "tasks kill --signal SIGTERM container-u1" {
		t.Errorf("sent %q", got)
	}
	if tasktest.Check(t, sys, r).Needed {
		t.Error("the new container is restarted, too")
	}
}

// TestDeletedDirectoryStaysMounted: the step fails when no other container comes.
func TestDeletedDirectoryStaysMounted(t *testing.T) {
	t.Parallel()
	sys, k := host(t)
	sys.Write(t, manifestPath, mounting, 0o600)
	sys.Mkdir(t, "/etc/kubernetes/pki/apiserver")
	sys.Write(t, "/proc/42/mountinfo", deletedKeys, 0o444)
	k.set(pod{"u1", "new", "RUNNING"})
	k.signal = func(string) {}
	_, _, err := tasktest.Run(t, sys, &Ready{Manifest: manifestPath, Timeout: 10 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "still has the deleted /etc/kubernetes/pki/apiserver mounted") {
		t.Errorf("error %v", err)
	}
}

// TestErrorNamesCopies: the error about a pod that does not come up names other files that define
// it, and no others.
func TestErrorNamesCopies(t *testing.T) {
	t.Parallel()
	sys, _ := host(t)
	writeManifest(t, sys, "new")
	const dir = "/etc/kubernetes/manifests/"
	for name, text := range map[string]string{
		"kube-apiserver.yaml.bak": "kind: Pod\nmetadata: {name: kube-apiserver, namespace: kube-system}\n",
		".#kube-apiserver.yaml":   "kind: Pod\nmetadata: {name: kube-apiserver, namespace: kube-system}\n",
		"other.yaml":              "kind: Pod\nmetadata: {name: kube-apiserver, namespace: shop}\n",
	} {
		sys.Write(t, dir+name, text, 0o600)
	}
	_, _, err := tasktest.Run(t, sys, &Ready{Manifest: manifestPath, Timeout: 10 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "also reads "+dir+"kube-apiserver.yaml.bak, which defines the same pod") {
		t.Errorf("error %v", err)
	}
}

// dryRun is a host in a dry run in which earlier steps would change some paths.
type dryRun struct {
	*tasktest.System
	paths []string
}

// WouldChange implements engine.DryRunView.
func (d dryRun) WouldChange(path string) bool { return slices.Contains(d.paths, path) }

// WouldCreate implements engine.DryRunView.
func (d dryRun) WouldCreate(dir string) bool { return slices.Contains(d.paths, dir) }

// CheckOnly implements engine.DryRunView.
func (dryRun) CheckOnly() bool { return true }
