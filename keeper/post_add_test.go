package keeper

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
	"deployer/keeper/status"
	"deployer/keeper/world"
)

// join adds a Ready node, or replaces the one of the name, and waits until the keeper that leads sees it.
func (c *cluster) join(name, uid string, at time.Time, annotations map[string]any) {
	c.api.Put("/api/v1/nodes/"+name, map[string]any{"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "uid": uid, "creationTimestamp": at.UTC().Format(time.RFC3339), "annotations": annotations},
		"status": map[string]any{
			"conditions": []any{map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": at.Format(time.RFC3339)}},
			"addresses":  []any{map[string]any{"type": "InternalIP", "address": "10.0.0.9"}},
		}})
	for end := time.Now().Add(time.Minute); c.nodes != nil; time.Sleep(5 * time.Millisecond) { // the watch has it soon
		all, err := c.nodes.Nodes(c.t.Context())
		if slices.ContainsFunc(all, func(n world.Node) bool { return n.UID == uid }) {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("the keeper does not see node %s: %v", name, err)
		}
	}
}

// TestPostAdd: hooks run once for a node that joins, not for those that there were, and again when another Node takes
// the name.
func TestPostAdd(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	c := newCluster(t, `clear: {enabled: false}, post_add: [{name: disks, command: [sh, -c, "echo $DEPLOYER_PHASE $DEPLOYER_NODE $DEPLOYER_ADDRESS >> `+said+`; test ! -e `+said+`.fail"]}]`)
	ran := func() []string {
		text, _ := os.ReadFile(said)
		return strings.Fields(strings.ReplaceAll(strings.ReplaceAll(string(text), "post_add ", ""), " 10.0.0.9", ""))
	}
	c.join("n2", "uid-n2", time.Now().Add(-time.Hour), nil)
	c.passUntilLeader()
	since, err := status.PostAddSince(t.Context(), c.access.Kube)
	if err != nil || since.IsZero() || len(ran()) > 0 {
		t.Fatalf("since %s, %v; hooks have run for %q", since, err, ran())
	}
	later := time.Now().Add(time.Second)
	c.join("n4", "uid-n4", later, nil)
	c.join("n5", "uid-n5", later.Add(time.Second), map[string]any{"deployer/post-add": "uid of another Node"})
	c.pass1()
	c.pass1()
	if got := ran(); !slices.Equal(got, []string{"n4", "n5"}) {
		t.Fatalf("hooks have run for %q", got)
	}
	if got := events(c.api, "Node", "n4"); len(got) != 1 || !strings.HasPrefix(got[0], "Normal RunPostAddHooks done: the node joined at ") {
		t.Errorf("events of n4: %q", got)
	}
	if again, err := status.PostAddSince(t.Context(), c.access.Kube); err != nil || !again.Equal(since) {
		t.Errorf("since %s, then %s, %v", since, again, err)
	}
	// Another process remembers nothing, and the hooks fail.
	if err := os.WriteFile(said+".fail", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.postAdds, c.history = postAdds{}, decide.History{}
	c.join("n4", "uid-new", later.Add(2*time.Second), nil)
	c.pass1()
	c.pass1()
	if got := ran(); !slices.Equal(got, []string{"n4", "n5", "n4"}) {
		t.Errorf("hooks have run for %q", got)
	}
	if last := c.done[len(c.done)-1]; last.Result == actionlog.ResultDone || !slices.Contains(c.reasons(), decide.PostAddFailed) {
		t.Errorf("%+v; problems %v", last, c.reasons())
	}
	if meta := c.api.Object("/api/v1/nodes/n4")["metadata"].(map[string]any); meta["annotations"] != nil {
		t.Errorf("the node is marked although its hooks have failed: %v", meta)
	}
	// Without hooks the time goes.
	text, err := os.ReadFile(c.options.Config)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), ", post_add")
	c.file("keeper.yaml", before+"}\n")
	c.pass1()
	if since, err := status.PostAddSince(t.Context(), c.access.Kube); err != nil || !since.IsZero() || slices.Contains(c.reasons(), decide.PostAddFailed) {
		t.Errorf("without hooks: since %s, %v; problems %v", since, err, c.reasons())
	}
}

// TestPostAddDryRun: nothing is run or recorded.
func TestPostAddDryRun(t *testing.T) {
	c := newCluster(t, `dry_run: true, clear: {enabled: false}, post_add: [{name: disks, command: [/bin/false]}]`)
	c.passUntilLeader()
	if since, err := status.PostAddSince(t.Context(), c.access.Kube); err != nil || !since.IsZero() || len(c.done) > 0 {
		t.Errorf("since %s, %v; done %+v", since, err, c.done)
	}
}
