package act

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"deployer/cluster"
)

// rook has fake programs kubectl and ceph, which write their arguments to a log. The files of dir are the answers:
// osds and node are those of kubectl get; unsafe, when it exists, makes Ceph refuse.
type rook struct {
	t   *testing.T
	dir string
}

func newRook(t *testing.T, osds, node string) *rook {
	t.Helper()
	r := &rook{t, t.TempDir()}
	r.file("osds", osds, 0o600)
	r.file("node", node, 0o600)
	r.file("kubectl", `#!/bin/sh
printf '%s\n' "kubectl $*" >> "$FAKE/log"
for last do :; done
case " $* " in
*" get deployments "*) printf '%s' "$last" > "$FAKE/osds.tmpl"; cat "$FAKE/osds" ;;
*" get cephcluster "*) printf '%s' "$last" > "$FAKE/node.tmpl"; cat "$FAKE/node" ;;
*" delete deployment "*) sed -i "/^$5 /d" "$FAKE/osds" ;;
*" patch cephcluster "*) : > "$FAKE/node" ;;
esac
`, 0o700)
	r.file("ceph", `#!/bin/sh
printf '%s\n' "ceph $*" >> "$FAKE/log"
case "$*" in
*safe-to-destroy*) [ ! -e "$FAKE/unsafe" ] || { echo "Error EBUSY: OSD(s) 3 have 12 pgs currently mapped to them." >&2; exit 16; } ;;
*"crush ls"*) [ -s "$FAKE/node" ] ;;
esac
`, 0o700)
	t.Setenv("PATH", r.dir+":"+os.Getenv("PATH"))
	t.Setenv("FAKE", r.dir)
	t.Setenv("CEPH", "ceph")
	return r
}

func (r *rook) file(name, text string, mode os.FileMode) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}

// log returns what the programs were called with, and forgets it.
func (r *rook) log() []string {
	text, _ := os.ReadFile(filepath.Join(r.dir, "log"))
	_ = os.Remove(filepath.Join(r.dir, "log"))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// render executes a template that kubectl was given, as kubectl does.
func (r *rook) render(name, object string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	text = []byte(strings.TrimPrefix(string(text), "go-template="))
	var data any
	if err := json.Unmarshal([]byte(object), &data); err != nil {
		r.t.Fatal(err)
	}
	var out strings.Builder
	if err := template.Must(template.New(name).Parse(string(text))).Execute(&out, data); err != nil {
		r.t.Fatal(err)
	}
	return out.String()
}

// TestCephExample: the example takes the OSDs of the node out of Ceph before the Node goes, not while data would be
// lost, and does nothing when it is repeated.
func TestCephExample(t *testing.T) {
	script, err := filepath.Abs("../../examples/keeper/ceph-purge-host.sh")
	if err != nil {
		t.Fatal(err)
	}
	const osds = "rook-ceph-osd-3 3\nrook-ceph-osd-10 10\n"
	r := newRook(t, osds, "1")
	api, actor := newActor(t, cluster.KeeperPurgeSpec{PreRemove: []cluster.KeeperHookSpec{{Name: "Ceph", Command: []string{script}, Timeout: time.Minute}}})
	r.file("unsafe", "", 0o600)
	if err := actor.Do(t.Context(), purge); err == nil || !strings.Contains(err.Error(), "node n3 stays") || !strings.Contains(err.Error(), "exit code 1: Error EBUSY: OSD(s) 3 have 12 pgs") || api.Object("/api/v1/nodes/n3") == nil {
		t.Fatalf("Ceph refuses: %v", err)
	}
	if log := r.log(); slices.ContainsFunc(log, func(l string) bool {
		return strings.Contains(l, "purge") || strings.Contains(l, "scale") || strings.Contains(l, "delete")
	}) {
		t.Errorf("Ceph refuses, and the script calls %q", log)
	}
	if err := os.Remove(filepath.Join(r.dir, "unsafe")); err != nil {
		t.Fatal(err)
	}
	if err := actor.Do(t.Context(), purge); err != nil || api.Object("/api/v1/nodes/n3") != nil {
		t.Fatalf("the Node is %v; %v", api.Object("/api/v1/nodes/n3"), err)
	}
	log := slices.DeleteFunc(r.log(), func(l string) bool { return strings.Contains(l, " get ") })
	want := []string{
		"ceph osd safe-to-destroy 3 10",
		"kubectl -n rook-ceph scale deployment rook-ceph-osd-3 --replicas=0", "ceph osd purge 3 --yes-i-really-mean-it", "kubectl -n rook-ceph delete deployment rook-ceph-osd-3 --ignore-not-found",
		"kubectl -n rook-ceph scale deployment rook-ceph-osd-10 --replicas=0", "ceph osd purge 10 --yes-i-really-mean-it", "kubectl -n rook-ceph delete deployment rook-ceph-osd-10 --ignore-not-found",
		"ceph osd crush ls n3", "ceph osd crush rm n3",
		`kubectl -n rook-ceph patch cephcluster rook-ceph --type json -p [{"op": "test", "path": "/spec/storage/nodes/1/name", "value": "n3"}, {"op": "remove", "path": "/spec/storage/nodes/1"}]`,
	}
	if !slices.Equal(log, want) {
		t.Errorf("the script calls\n%s\nwant\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
	}
	if err := actor.Do(t.Context(), purge); err != nil {
		t.Errorf("repeated: %v", err)
	}
	if log := slices.DeleteFunc(r.log(), func(l string) bool { return strings.Contains(l, " get ") }); !slices.Equal(log, []string{"ceph osd crush ls n3"}) {
		t.Errorf("repeated: %q", log)
	}

	deployment := func(name, id, host string) string {
		return `{"metadata": {"name": "` + name + `", "labels": {"ceph-osd-id": "` + id + `"}}, "spec": {"template": {"spec": {` + host + `}}}}`
	}
	list := `{"items": [` + strings.Join([]string{
		deployment("rook-ceph-osd-3", "3", `"nodeSelector": {"kubernetes.io/hostname": "n3"}`),
		deployment("rook-ceph-osd-4", "4", `"nodeSelector": {"kubernetes.io/hostname": "n33"}`),
		deployment("rook-ceph-osd-5", "5", `"nodeSelector": {"zone": "a"}`),
		deployment("rook-ceph-osd-6", "6", `"containers": []`),
		deployment("rook-ceph-osd-10", "10", `"nodeSelector": {"kubernetes.io/hostname": "n3"}`),
	}, ",") + `]}`
	if got := r.render("osds.tmpl", list); got != osds {
		t.Errorf("kubectl prints %q, want %q", got, osds)
	}
	for object, want := range map[string]string{
		`{"spec": {"storage": {"nodes": [{"name": "n1"}, {"name": "n3"}]}}}`:  "1",
		`{"spec": {"storage": {"nodes": [{"name": "n1"}]}}}`:                  "",
		`{"spec": {"storage": {"useAllNodes": true}}}`:                        "",
		`{"spec": {"storage": {"nodes": [{"name": "n3"}, {"name": "n33"}]}}}`: "0",
	} {
		if got := r.render("node.tmpl", object); got != want {
			t.Errorf("kubectl prints %q for %s, want %q", got, object, want)
		}
	}
}

// TestCephExampleRefusesNames: a name that would become part of a program is refused.
func TestCephExampleRefusesNames(t *testing.T) {
	script, err := filepath.Abs("../../examples/keeper/ceph-purge-host.sh")
	if err != nil {
		t.Fatal(err)
	}
	r := newRook(t, "", "")
	for _, name := range []string{"", `n3"}}`, "n3 n4", "$(reboot)"} {
		err := runHooks(t.Context(), []cluster.KeeperHookSpec{{Name: "Ceph", Command: []string{script}, Timeout: time.Minute}}, hookTarget{Node: name})
		if err == nil || len(r.log()[0]) > 0 {
			t.Errorf("%q: %v", name, err)
		}
	}
}
