package roles

import (
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
)

// TestMasterInUseWaitsForJoining evaluates the condition under which the API server
// of a master waits for the API server of a joining master.
func TestMasterInUseWaitsForJoining(t *testing.T) {
	text, err := FS.ReadFile("control-plane/tasks/main.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tasks []struct {
		When  string
		Needs []struct{ Label string }
	}
	if err := yaml.Unmarshal(text, &tasks); err != nil {
		t.Fatal(err)
	}
	if len(tasks[0].Needs) != 1 || tasks[0].Needs[0].Label != "apiserver-ready" {
		t.Fatalf("the first task of control-plane is another one: %+v", tasks[0])
	}
	condition, err := lang.CompileExpr(tasks[0].When, lang.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		plan  map[string]any
		waits bool
	}{
		{"two masters join", map[string]any{"bootstrap": false, "order": []any{"m2", "m3"}}, true},
		{"it joins itself", map[string]any{"bootstrap": false, "order": []any{"m1", "m2"}}, false},
		{"a member joins that is no master", map[string]any{"bootstrap": false, "order": []any{"e1"}}, false},
		{"nobody joins", map[string]any{"bootstrap": false, "order": nil}, false},
		{"a new cluster", map[string]any{"bootstrap": true, "order": []any{"m2"}}, false},
		{"a playbook in which nobody can join", map[string]any{"bootstrap": false}, false},
	} {
		got, err := condition.Eval(map[string]any{
			"host":      map[string]any{"name": "m1", "runs_apiserver": true},
			"cluster":   map[string]any{"masters": []any{"m1", "m2", "m3"}},
			"etcd_plan": c.plan,
		})
		if err != nil || got != c.waits {
			t.Errorf("%s: %v, %v; want %t", c.name, got, err, c.waits)
		}
	}
}
