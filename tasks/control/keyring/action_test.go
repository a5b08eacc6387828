package keyring_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/keyring"
)

func newContext(held map[string]engine.Output) (*actiontest.Context, *keyring.Keyring) {
	s := &actiontest.Context{Provided: engine.Services{}, Results: map[string]map[string]engine.Output{}}
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

func TestLoadCreatesKeysOnceAndReadsThemLater(t *testing.T) {
	ctx := context.Background()
	s, ring := newContext(map[string]engine.Output{"m1": output(nil), "m2": output(nil)})
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
	s, ring = newContext(map[string]engine.Output{"m1": output(keys.Files()), "m2": output(nil)})
	change, err = action.Check(ctx, s)
	if err != nil || change.Needed {
		t.Fatalf("second run: %+v, %v", change, err)
	}
	again, _ := ring.Keys()
	if string(again.Files()[keyring.ClusterCert]) != string(keys.Files()[keyring.ClusterCert]) {
		t.Error("the second run serves another authority")
	}
}

// TestLoadTakesTheKeysOfABackup: masters without keys get the keys of a backup;
// masters with keys must have the same ones.
func TestLoadTakesTheKeysOfABackup(t *testing.T) {
	ctx := context.Background()
	backup, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	others, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		held  keyring.Files
		wrong string
	}{
		"masters without keys":                  {nil, ""},
		"a restore that was killed":             {backup.Files(), ""},
		"a master with keys of another cluster": {others.Files(), "on the backup"},
	} {
		s, ring := newContext(map[string]engine.Output{"m1": output(c.held), "m2": output(nil)})
		s.Name = "m1"
		s.Results["m1"]["backup"] = output(backup.Files())
		change, err := (&keyring.Load{Found: "found", Backup: "backup", Existing: true}).Check(ctx, s)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %q", name, err, c.wrong)
			}
			continue
		}
		if err != nil || change.Needed {
			t.Fatalf("%s: %+v, %v", name, change, err)
		}
		keys, err := ring.Keys()
		if err != nil || string(keys.Files()[keyring.EncryptionConf]) != string(backup.Files()[keyring.EncryptionConf]) {
			t.Errorf("%s: other keys, %v", name, err)
		}
		// A later play of a dry run finds masters without files.
		s.Check, s.Results["m1"] = true, map[string]engine.Output{"found": output(nil)}
		if change, err := (&keyring.Load{Found: "found"}).Check(ctx, s); err != nil || change.Needed {
			t.Errorf("%s, a later play of a dry run: %+v, %v", name, change, err)
		}
	}
}

// TestLoadCreatesNoKeysWhenAMasterHasNotRegistered: no new key is created when a
// master has registered no files, because that master may hold the CA that has signed
// the certificates of the others.
func TestLoadCreatesNoKeysWhenAMasterHasNotRegistered(t *testing.T) {
	skipped := engine.Output{"skipped": true}
	failed := engine.Output{"failed": true}
	for name, c := range map[string]struct {
		held map[string]engine.Output
		text string
	}{
		"a master without a result": {map[string]engine.Output{"m1": output(nil), "n1": skipped}, "m2 did not report"},
		"failed":                    {map[string]engine.Output{"m1": output(nil), "m2": failed}, "m2 did not report"},
		"no master has a result":    {map[string]engine.Output{"n1": skipped}, `no master registered "found"`},
		"all masters have results":  {map[string]engine.Output{"m1": output(nil), "m2": output(nil), "n1": skipped}, ""},
	} {
		s, _ := newContext(c.held)
		engine.Provide(s.Provided, &cluster.Cluster{Masters: []string{"m1", "m2"}})
		_, err := (&keyring.Load{Found: "found"}).Check(context.Background(), s)
		if (err == nil) != (c.text == "") || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLoadCreatesNoAuthorityBesideAClusterInUse: no new authority is created for a
// cluster whose masters have lost their files, because its hosts would not trust it.
func TestLoadCreatesNoAuthorityBesideAClusterInUse(t *testing.T) {
	there, not := engine.Output{"exists": true}, engine.Output{"exists": false}
	for name, tt := range map[string]struct {
		found map[string]engine.Output // host -> stat of the kubelet or of etcd's data
		text  string
	}{
		"new hosts":                          {map[string]engine.Output{"n1": not, "e1": not}, ""},
		"hosts with a kubelet":               {map[string]engine.Output{"n1": there, "n2": there, "e1": not}, "a kubelet runs on n1, n2:"},
		"a host with etcd data":              {map[string]engine.Output{"n1": not, "e1": there}, "etcd has data on e1:"},
		"hosts with a kubelet and etcd data": {map[string]engine.Output{"n1": there, "e1": there}, "a kubelet runs on n1 and etcd has data on e1:"},
		"a host whose check failed":          {map[string]engine.Output{"n1": {"failed": true}, "e1": not}, ""},
	} {
		s, _ := newContext(map[string]engine.Output{"m1": output(nil)})
		engine.Provide(s.Provided, &cluster.Cluster{Masters: []string{"m1"}, NodeNames: []string{"m1", "n1", "n2"}, Etcd: cluster.Etcd{Peers: []cluster.Endpoint{{Name: "e1"}}}})
		for host, out := range tt.found {
			s.Hosts = append(s.Hosts, host)
			registered := "node"
			if host == "e1" {
				registered = "etcd"
			}
			if s.Results[host] == nil {
				s.Results[host] = map[string]engine.Output{}
			}
			s.Results[host][registered] = out
		}
		_, err := (&keyring.Load{Found: "found", Nodes: "node", Etcd: "etcd"}).Check(context.Background(), s)
		if (err == nil) != (tt.text == "") || err != nil && (!strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "deployer etcd restore")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	s, _ := newContext(nil)
	if _, err := (&keyring.Load{Found: "found"}).Check(context.Background(), s); err == nil || !strings.Contains(err.Error(), `no master registered "found"`) {
		t.Errorf("nothing registered: %v", err)
	}
	s.Provided = engine.Services{}
	if _, err := (&keyring.Load{Found: "found"}).Check(context.Background(), s); err == nil || !strings.Contains(err.Error(), "no keyring") {
		t.Errorf("no service: %v", err)
	}
}

// TestLoadCreatesABGPPasswordOnRequest: an existing cluster without a password for
// its BGP sessions gets one only when the inventory requests it.
func TestLoadCreatesABGPPasswordOnRequest(t *testing.T) {
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := keys.Files()
	delete(files, keyring.BGPPassword)
	for mode, want := range map[string]bool{cluster.AuthenticationAuto: false, cluster.AuthenticationNone: false, cluster.AuthenticationMD5: true} {
		s, ring := newContext(map[string]engine.Output{"m1": output(files), "m2": output(nil)})
		engine.Provide(s.Provided, &cluster.Cluster{Masters: []string{"m1", "m2"}, Network: cluster.Network{Authentication: mode}})
		change, err := (&keyring.Load{Found: "found"}).Check(t.Context(), s)
		if err != nil || change.Needed != want {
			t.Fatalf("%s: %+v, %v", mode, change, err)
		}
		if got, err := ring.Keys(); err != nil || (got.BGPPassword() != "") != want {
			t.Errorf("%s: password %q, %v", mode, got.BGPPassword(), err)
		}
	}
}

// TestNewEncryptionKeyIsRefusedWhereEtcdHasData: a cluster with data in etcd gets a
// new encryption key only on request: Secrets that are encrypted with the lost key
// would become unreadable without a warning.
func TestNewEncryptionKeyIsRefusedWhereEtcdHasData(t *testing.T) {
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := keys.Files()
	delete(files, keyring.EncryptionConf)
	data, empty := engine.Output{"exists": true}, engine.Output{"exists": false}
	for name, c := range map[string]struct {
		held    keyring.Files
		etcd    map[string]engine.Output
		allowed bool
		want    string // part of the error; empty: a key is created
	}{
		"etcd has data, a file is missing":     {files, map[string]engine.Output{"m1": data, "m2": empty}, false, "etcd has data on m1"},
		"etcd has data, all files are missing": {nil, map[string]engine.Output{"m1": data, "m2": data}, false, "etcd has data on m1, m2"},
		"a member without result":              {files, map[string]engine.Output{"m1": empty}, false, "no result for m2"},
		"etcd has no data, a file is missing":  {files, map[string]engine.Output{"m1": empty, "m2": empty}, false, ""},
		"new cluster":                          {nil, map[string]engine.Output{"m1": empty, "m2": empty}, false, ""},
		"etcd has data, a new key is allowed":  {files, map[string]engine.Output{"m1": data, "m2": data}, true, ""},
		"nothing is missing":                   {keys.Files(), map[string]engine.Output{"m1": data, "m2": data}, false, ""},
	} {
		s, ring := newContext(map[string]engine.Output{"m1": output(c.held), "m2": output(nil)})
		peers := []cluster.Endpoint{{Name: "m1"}, {Name: "m2"}}
		engine.Provide(s.Provided, &cluster.Cluster{Masters: []string{"m1", "m2"}, Etcd: cluster.Etcd{Peers: peers}})
		for host, out := range c.etcd {
			s.Results[host]["etcd"] = out
		}
		_, err := (&keyring.Load{Found: "found", Etcd: "etcd", NewEncryptionKey: c.allowed}).Check(t.Context(), s)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, filled := ring.Keys(); (filled == nil) != (c.want == "") {
			t.Errorf("%s: the keyring is filled: %v", name, filled == nil)
		}
	}
}

// TestDryRunReturnsNoDigestsOfNewKeys: a dry run returns no digests of keys that only
// the real run creates.
func TestDryRunReturnsNoDigestsOfNewKeys(t *testing.T) {
	s, _ := newContext(map[string]engine.Output{"m1": output(nil), "m2": output(nil)})
	s.Check = true
	if _, err := (&keyring.Load{Found: "found"}).Check(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	dry, err := (&keyring.Digests{}).Check(t.Context(), s)
	if err != nil || dry.Needed || dry.Output[keyring.EncryptionConf] != "made by the run" {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	s.Check = false
	if wet, err := (&keyring.Digests{}).Check(t.Context(), s); err != nil || wet.Output[keyring.EncryptionConf] == dry.Output[keyring.EncryptionConf] {
		t.Errorf("real run: %+v, %v", wet, err)
	}
}
