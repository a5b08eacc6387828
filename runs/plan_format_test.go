package runs_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/runs"
)

var update = flag.Bool("update", false, "write the golden plan of the present format; those of older ones are never written again")

func goldenPlan() *plan.Plan {
	effect := engine.Effect{Kind: engine.EffectFile, Target: "/etc/web.conf", Action: "replace", Diff: "-a\n+b\n"}
	secret := engine.Effect{Kind: engine.EffectFile, Target: "/etc/key", Action: "create", Secret: true, Redacted: true}
	opaque := 1
	return &plan.Plan{
		Format: plan.Format, Deployer: "v1", Made: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), By: "ann@ci",
		Invocation: journal.Invocation{Verb: "run", Playbook: "/site/site.yaml", Inventory: "/site/inventory.yaml", Limit: "web", Extra: map[string]any{"said": "hello"}, Withheld: []string{"token"}},
		Files:      map[string]string{"/site/site.yaml": "abc"},
		Changes: []plan.Change{
			{Step: "1.web.1", Name: "configuration", Role: "web", Effects: []engine.Effect{effect, secret}, Fingerprints: []string{effect.Fingerprint(), secret.Fingerprint()}, MaxParallel: 1},
			{Step: "1.web.2", Name: "look", Unknown: "it looks at what 1.web.1 registers"},
		},
		Hosts:   []plan.Host{{Name: "web1", Changes: []int{0, 1}, Inexact: map[int]int{1: 0}, UnboundedFrom: &opaque}, {Name: "web2", Changes: []int{}}},
		LeftOut: map[string]string{"web3": "not reached"},
	}
}

// TestPlanFormat compares the JSON of a plan with the golden file of the present format,
// and reads it back.
func TestPlanFormat(t *testing.T) {
	golden := filepath.Join("testdata", "plan-1.json")
	text, err := json.MarshalIndent(goldenPlan(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(golden, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("a plan is not as in its format: give it another number, and refuse or read the old one: %s", diff)
	}
	got, _, err := runs.ReadPlan(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(goldenPlan(), got); diff != "" {
		t.Error(diff)
	}
	for format, says := range map[string]string{`"format": 7`: "is a plan of format 7, this deployer reads format 1", `"made by": "hand"`: "is no plan: it has no format number"} {
		path := filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(path, []byte(strings.Replace(string(want), `"format": 1`, format, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := runs.ReadPlan(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", format, err)
		}
	}
}
