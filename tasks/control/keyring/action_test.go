package keyring_test

import (
	"context"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/sitetest"
)

func site(held map[string]engine.Output) (*sitetest.Site, *keyring.Keyring) {
	s := &sitetest.Site{Provided: engine.Services{}, Results: map[string]map[string]engine.Output{}}
	ring := &keyring.Keyring{}
	engine.Provide(s.Provided, ring)
	for _, host := range []string{"m1", "m2", "n1"} {
		s.Hosts = append(s.Hosts, host)
		if out, ok := held[host]; ok {
			s.Results[host] = map[string]engine.Output{"found": out}
		}
	}
	return s, ring
}

func output(files keyring.Files) engine.Output {
	contents := map[string]any{}
	for path, data := range files {
		contents[path] = string(data)
	}
	return engine.Output{"changed": false, "files": contents}
}

func TestAuthorityMakesOnceAndLoadsAfterwards(t *testing.T) {
	ctx := context.Background()
	s, ring := site(map[string]engine.Output{"m1": output(nil), "m2": output(nil)})
	action := &keyring.Load{Found: "found"}
	change, err := action.Check(ctx, s)
	if err != nil || !change.Needed || len(change.Effects) != len(keyring.Paths()) {
		t.Fatalf("new cluster: %+v, %v", change, err)
	}
	if _, err := action.Apply(ctx, s, change); err != nil {
		t.Fatal(err)
	}
	keys, err := ring.Keys()
	if err != nil {
		t.Fatal(err)
	}
	s, ring = site(map[string]engine.Output{"m1": output(keys.Files()), "m2": output(nil)})
	change, err = action.Check(ctx, s)
	if err != nil || change.Needed {
		t.Fatalf("second run: %+v, %v", change, err)
	}
	again, _ := ring.Keys()
	if string(again.Files()[keyring.ClusterCert]) != string(keys.Files()[keyring.ClusterCert]) {
		t.Error("the second run serves another authority")
	}
}

func TestAuthorityErrors(t *testing.T) {
	s, _ := site(nil)
	if _, err := (&keyring.Load{Found: "found"}).Check(context.Background(), s); err == nil || !strings.Contains(err.Error(), `no master registered "found"`) {
		t.Errorf("nothing registered: %v", err)
	}
	s.Provided = engine.Services{}
	if _, err := (&keyring.Load{Found: "found"}).Check(context.Background(), s); err == nil || !strings.Contains(err.Error(), "no keyring") {
		t.Errorf("no service: %v", err)
	}
}
