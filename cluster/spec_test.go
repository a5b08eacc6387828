package cluster_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/strictyaml"
)

// TestEveryKeyDecodes: testdata/every-key.yaml sets every key of the section, so that
// the test detects a key that the type lacks or that has no documentation.
func TestEveryKeyDecodes(t *testing.T) {
	file := filepath.Join("testdata", "every-key.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	node, err := strictyaml.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	var spec cluster.Spec
	if err := strictyaml.Decode(file, node, &spec); err != nil {
		t.Fatal(err)
	}
	everyField(t, "cluster", reflect.ValueOf(spec))
	hosts := append(fleet(masters(3), minions(3)), cluster.Host{Name: "p1", Address: "172.31.9.1", Roles: []string{cluster.RoleProxy}})
	for i := range hosts {
		hosts[i].Labels = map[string]string{"rack": "a", "topology.kubernetes.io/zone": "a"}
	}
	withBGP, withCalico := spec, spec // each plugin refuses settings of the other
	withBGP.Network.Calico = cluster.CalicoSpec{}
	withRacks, withZones := withBGP, withBGP
	withBGP.Network.BGP.RackLabel, withBGP.Network.ReflectorLabel = "", ""
	withRacks.Network.Reflectors, withRacks.Network.ReflectorLabel = nil, ""
	withZones.Network.BGP.RackLabel, withZones.Network.Reflectors = "", nil
	withCalico.Network.BGP, withCalico.Network.ReflectorLabel = cluster.BGPSpec{}, ""
	withCalico.Network.Plugin, withCalico.Network.Authentication, withCalico.Network.Reflectors = cluster.PluginCalico, cluster.AuthenticationNone, nil
	for _, spec := range []cluster.Spec{withBGP, withRacks, withZones, withCalico} {
		if problems := cluster.Validate(spec, hosts); len(problems) > 0 {
			t.Errorf("the example with %s is refused:\n%v", spec.Network.Plugin, problems)
		}
	}
}

// everyField checks that a field is set in the example, and has a sentence for
// the reference.
func everyField(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		key := path + "." + field.Tag.Get("yaml")
		if field.Tag.Get("yaml") == "" || !strings.HasSuffix(field.Tag.Get("doc"), ".") {
			t.Errorf("%s (%s) needs a key and a sentence", key, field.Name)
		}
		if v.Field(i).IsZero() {
			t.Errorf("%s is not in the example", key)
		}
		if v.Field(i).Kind() == reflect.Struct {
			everyField(t, key, v.Field(i))
		}
	}
}

func TestMisspeltKeyIsFound(t *testing.T) {
	node, err := strictyaml.Parse("inventory.yaml", []byte("etcd:\n  heartbeat_intervall: 100ms\n"))
	if err != nil {
		t.Fatal(err)
	}
	var spec cluster.Spec
	err = strictyaml.Decode("inventory.yaml", node, &spec)
	if err == nil || !strings.Contains(err.Error(), "inventory.yaml:2:3") || !strings.Contains(err.Error(), `"heartbeat_interval"`) {
		t.Errorf("error is %v", err)
	}
}
