package keeper

import (
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/keeper/config"
	"deployer/keeper/decide"
)

// mark sets a mark of maintenance on a node.
func (c *cluster) mark(node string, until time.Time) {
	path := "/api/v1/nodes/" + node
	object := c.api.Object(path)
	metadata := object["metadata"].(map[string]any)
	metadata["labels"] = map[string]any{"deployer/maintenance": "true"}
	metadata["annotations"] = map[string]any{"deployer/maintenance": `{"until": "` + until.UTC().Format(time.RFC3339) + `", "by": "ann@desk", "reason": "disks"}`}
	c.api.Put(path, object)
}

func (c *cluster) renewed() (out []string) {
	for _, write := range c.api.Writes() {
		if _, node, found := strings.Cut(write, "PATCH /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"); found {
			out = append(out, node)
		}
	}
	return out
}

// TestMarks: nodes in maintenance whose hosts answer are renewed, and no others, whatever a pass does.
func TestMarks(t *testing.T) {
	c := newCluster(t, "")
	c.api.Put("/api/v1/namespaces/kube-node-lease", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-node-lease"}})
	for _, node := range []string{"m1", "n2", "n3"} {
		c.api.Put("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+node, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
			"metadata": map[string]any{"namespace": "kube-node-lease", "name": node}})
	}
	c.passUntilLeader()
	c.mark("m1", time.Now().Add(-time.Minute)) // has ended
	c.mark("n2", time.Now().Add(time.Hour))
	c.mark("n3", time.Now().Add(time.Hour)) // does not answer
	c.renewMarked(t.Context(), c.access.Kube)
	if got := c.renewed(); !slices.Equal(got, []string{"n2"}) {
		t.Errorf("renewed %q, want n2", got)
	}
}

// TestMarksOutlastPauses: a pause of the keeper ends no mark; a dry run renews nothing and says so.
func TestMarksOutlastPauses(t *testing.T) {
	c := newCluster(t, "")
	c.api.Put("/api/v1/namespaces/kube-system/configmaps/deployer-keeper", map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "kube-system", "name": "deployer-keeper"}, "data": map[string]any{"pause": `{"by": "ann@desk", "since": "2026-11-28T03:00:00Z"}`}})
	c.passUntilLeader()
	if with := c.marks.current(); with == nil || with.election.leader() == nil {
		t.Error("nothing is renewed during a pause")
	}

	c = newCluster(t, "dry_run: true")
	c.mark("n2", time.Now().Add(time.Hour))
	c.passUntilLeader()
	if c.marks.current() != nil {
		t.Error("a dry run renews")
	}
	if problems := c.reported().Problems; !slices.ContainsFunc(problems, func(p decide.Problem) bool {
		return p.Reason == decide.NotDone && strings.Contains(p.Message, "keep the pods of node n2") && strings.Contains(p.Message, "dry_run")
	}) {
		t.Errorf("%+v", problems)
	}
}

// TestMarksEndWithTheKeeper: the loop of the marks ends when the keeper does.
func TestMarksEndWithTheKeeper(t *testing.T) {
	c := newCluster(t, "")
	file, err := config.Read(c.options.Config)
	if err != nil {
		t.Fatal(err)
	}
	c.pass(t.Context(), file, nil)
	c.leave()
	if c.marks.current() != nil || c.election.leads() {
		t.Error("a keeper that has left renews")
	}
}
