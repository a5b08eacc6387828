package roles_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"deployer/tasks/control/calico/calicotest"
)

// TestCalicoObjectsAreValid: pools and settings of Calico are of its published kinds.
func TestCalicoObjectsAreValid(t *testing.T) {
	text := newSite(t, "calico").files(t, "m1")["kubernetes:calico-settings.yaml.tmpl"]
	kinds := map[string]int{}
	for _, part := range strings.Split(text, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			t.Fatalf("%v in\n%s", err, part)
		}
		kind, _ := object["kind"].(string)
		kinds[kind]++
		for _, version := range calicotest.Versions() {
			if err := calicotest.Validate(version, object); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
	if kinds["IPPool"] != 2 || kinds["FelixConfiguration"] != 1 {
		t.Errorf("kinds: %v", kinds)
	}
}
