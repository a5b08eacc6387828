package decide

import (
	"fmt"
	"os"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/keeper/world"
	"deployer/strictyaml"
)

// TestScaleExample: the policies of the example are valid, and give the replicas that its comments promise.
func TestScaleExample(t *testing.T) {
	const path = "../../examples/keeper/scale.yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var inventory struct {
		Cluster struct {
			Keeper cluster.KeeperSpec `yaml:"keeper"`
		} `yaml:"cluster"`
	}
	if err := strictyaml.Decode(path, &document, &inventory); err != nil {
		t.Fatal(err)
	}
	s := inventory.Cluster.Keeper.WithDefaults()
	if problems := cluster.CheckKeeper(s); len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(s.Scale) != 4 {
		t.Fatalf("%d policies", len(s.Scale))
	}
	const none = -1 // no action
	for ready, want := range map[int][4]int{
		1: {none, none, none, none}, 2: {none, none, 2, none}, 3: {6, 3, 2, 1}, 4: {6, 3, 2, 1}, 30: {6, 3, 2, 1},
	} {
		w := world.World{Now: now}
		for i := range ready + 1 {
			n := world.Node{Name: fmt.Sprintf("n%d", i), Ready: world.True}
			if i == ready {
				n.Ready = world.Unknown
			}
			w.Nodes = append(w.Nodes, n)
		}
		got := [4]int{none, none, none, none}
		for i, p := range s.Scale {
			o := world.Object{APIVersion: p.APIVersion, Kind: p.Kind, Namespace: p.Namespace, Name: "x", UID: fmt.Sprint(i), Replicas: 1}
			if len(p.Patch) > 0 {
				o.Replicas = -1
			}
			w.Scaled = append(w.Scaled, []world.Object{o})
		}
		for _, a := range ScaleOf(s.Scale, w).Actions {
			if got[a.Policy] = a.Replicas; a.Kind == Patch {
				got[a.Policy] = 1
			}
		}
		if got != want {
			t.Errorf("%d Ready nodes: %v, want %v", ready, got, want)
		}
	}
	// Two of three nodes fail: only the controllers become fewer.
	w := world.World{Now: now, Nodes: []world.Node{{Name: "n1", Ready: world.True}}}
	for i, p := range s.Scale {
		w.Scaled = append(w.Scaled, []world.Object{{APIVersion: p.APIVersion, Kind: p.Kind, UID: fmt.Sprint(i), Replicas: []int{6, 3, 2, -1}[i]}})
	}
	if d := ScaleOf(s.Scale, w); len(d.Actions) != 1 || d.Actions[0].Policy != 2 || d.Actions[0].Replicas != 1 {
		t.Errorf("%v", d.Actions)
	}
}
