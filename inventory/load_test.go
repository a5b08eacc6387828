package inventory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"deployer/limit"
	"deployer/strictyaml"
)

// read parses a file in /etc/site, for a user whose home is /home/u.
func read(text string, env map[string]string) (*Inventory, error) {
	return parse(source{"inventory.yaml", []byte(text), "/etc/site", "/home/u", func(k string) (string, bool) {
		v, ok := env[k]
		return v, ok
	}, os.ReadFile}, nil)
}

func mustRead(t testing.TB, text string) *Inventory {
	t.Helper()
	inv, err := read(text, map[string]string{"TOKEN": "t0ken"})
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

const full = `
cluster: {name: demo}
artifacts: {source: upstream}
ssh:
  user: ops
  key: keys/id
  become: sudo
  become_password_env: SUDO_PASSWORD
  known_hosts: ~/hosts
  host_keys: accept-new
  bastion: {address: jump.example.org, user: gate}
  connect_timeout: 5s
vars: {mtu: 1500, tier: {a: 1, b: 2}, password: !secret s3cret, token: !env TOKEN}
hosts:
  m[1:3]: {address: "10.0.0.[11:13]", overrides: {kubelet: {maxPods: 50}}}
  n1: {address: fd00::1, ssh: {port: 2222, bastion: []}, vars: {mtu: 9000}, labels: {disk: ssd}, taints: ["gpu=yes:NoSchedule"]}
  n2:
  lb.example.org: {ssh: {become: none, become_password_env: null}}
groups:
  rack2: {hosts: [n1], vars: {mtu: 1400, rack: two}, labels: {rack: "2", disk: hdd}, taints: ["gpu=no:NoSchedule", "gpu:NoExecute"]}
  row: {children: [rack1, rack2], vars: {mtu: 1300, rack: none, row: 1}, overrides: {kubelet: {maxPods: 10, a: {x: 1}}, list: [1, 2]}}
  rack1: {hosts: "m[1:2], n2", vars: {rack: one}, overrides: {kubelet: {a: {y: 2}}, list: [3]}}
roles:
  master: ["m[1:3]"]
  minion: [rack2, n2]
  proxy: lb.example.org
max_fail: {minion: 10%, rack1: 1}
forks: 20
`

func TestParseFull(t *testing.T) {
	inv := mustRead(t, full)
	if diff := cmp.Diff([]string{"m1", "m2", "m3", "n1", "n2", "lb.example.org"}, inv.Names()); diff != "" {
		t.Error(diff)
	}
	wantGroups := map[string][]string{"rack1": {"m1", "m2", "n2"}, "rack2": {"n1"}, "row": {"m1", "m2", "n1", "n2"}}
	if diff := cmp.Diff(wantGroups, inv.Groups); diff != "" {
		t.Error(diff)
	}
	wantTable := map[string][]string{"rack1": {"m1", "m2", "n2"}, "rack2": {"n1"}, "row": {"m1", "m2", "n1", "n2"},
		"master": {"m1", "m2", "m3"}, "minion": {"n1", "n2"}, "etcd": {"m1", "m2", "m3"}, "proxy": {"lb.example.org"},
		"node": {"m1", "m2", "m3", "n1", "n2"}, "all": inv.Names()}
	if diff := cmp.Diff(wantTable, inv.Table()); diff != "" {
		t.Error(diff)
	}
	if inv.Cluster == nil || inv.Artifacts == nil || inv.Forks != 20 {
		t.Errorf("cluster %v, artifacts %v, forks %d", inv.Cluster, inv.Artifacts, inv.Forks)
	}
	if diff := cmp.Diff(map[string]limit.Limit{"minion": {Percent: 10, Share: true}, "rack1": {Count: 1}}, inv.MaxFail); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"s3cret", "t0ken"}, inv.Secrets()); diff != "" {
		t.Error(diff)
	}
}

func TestPrecedence(t *testing.T) {
	inv := mustRead(t, full)
	shared := map[string]any{"tier": map[string]any{"a": 1, "b": 2}, "password": "s3cret", "token": "t0ken"}
	with := func(more map[string]any) map[string]any {
		for k, v := range shared {
			more[k] = v
		}
		return more
	}
	ssh := SSH{User: "ops", Key: "/etc/site/keys/id", Agent: true, Become: "sudo", BecomePasswordEnv: "SUDO_PASSWORD",
		KnownHosts: "/home/u/hosts", HostKeys: "accept-new", ConnectTimeout: 5 * time.Second,
		Bastion: Hops{{Address: "jump.example.org", User: "gate", Key: "/etc/site/keys/id"}}}
	direct := ssh
	direct.Port, direct.Bastion = 2222, Hops{}
	want := []Host{
		{Name: "m1", Address: "10.0.0.11", SSH: ssh, Vars: with(map[string]any{"mtu": 1300, "rack": "one", "row": 1}),
			Overrides: map[string]any{"kubelet": map[string]any{"maxPods": 50, "a": map[string]any{"x": 1, "y": 2}}, "list": []any{3}},
			Labels:    map[string]string{}, Roles: []string{"master"}, Groups: []string{"row", "rack1"}},
		{Name: "n1", Address: "fd00::1", SSH: direct, Vars: with(map[string]any{"mtu": 9000, "rack": "two", "row": 1}),
			Overrides: map[string]any{"kubelet": map[string]any{"maxPods": 10, "a": map[string]any{"x": 1}}, "list": []any{1, 2}},
			Labels:    map[string]string{"rack": "2", "disk": "ssd"}, Taints: []string{"gpu:NoExecute", "gpu=yes:NoSchedule"},
			Roles: []string{"minion"}, Groups: []string{"row", "rack2"}},
	}
	for _, w := range want {
		got, ok := inv.Host(w.Name)
		if !ok {
			t.Fatalf("no host %s", w.Name)
		}
		if diff := cmp.Diff(w, got, cmpopts.IgnoreFields(Host{}, "Pos"), cmpopts.IgnoreUnexported(Hop{})); diff != "" {
			t.Errorf("%s: %s", w.Name, diff)
		}
	}
}

func TestHostsOfOneRangeShareNothing(t *testing.T) {
	inv := mustRead(t, full)
	inv.Hosts[0].Vars["mtu"] = 0
	inv.Hosts[0].Overrides["kubelet"].(map[string]any)["maxPods"] = 0
	m2, _ := inv.Host("m2")
	if m2.Vars["mtu"] != 1300 || m2.Overrides["kubelet"].(map[string]any)["maxPods"] != 50 {
		t.Errorf("a change of m1 reached m2: %v %v", m2.Vars, m2.Overrides)
	}
}

func TestBastionThatIsAHost(t *testing.T) {
	inv := mustRead(t, `
ssh: {user: ops, key: /k, bastion: {host: jump}}
hosts:
  jump: {address: 192.0.2.1, ssh: {port: 2200, user: gate}}
  n1: {address: 10.0.0.1, ssh: {port: 23}}
`)
	jump, _ := inv.Host("jump")
	if len(jump.SSH.Bastion) != 0 {
		t.Errorf("the bastion is reached through %+v", jump.SSH.Bastion)
	}
	n1, _ := inv.Host("n1")
	want := Hops{{Host: "jump", Address: "192.0.2.1", User: "gate", Port: 2200, Key: "/k"}}
	if diff := cmp.Diff(want, n1.SSH.Bastion, cmpopts.IgnoreUnexported(Hop{})); diff != "" {
		t.Error(diff)
	}
}

func TestOrigins(t *testing.T) {
	inv := mustRead(t, full)
	lines := strings.Split(full, "\n")
	got := map[string]string{} // layer, and the text of the file at the position
	for _, o := range inv.Origins("n1") {
		got[o.Key] = o.Layer
		if o.Pos.Line > 0 {
			got[o.Key] += " | " + lines[o.Pos.Line-1][o.Pos.Col-1:]
		}
		if s, ok := o.Value.(string); ok && (s == "s3cret" || s == "t0ken") {
			t.Errorf("%s shows a secret", o.Key)
		}
	}
	for key, want := range map[string]string{
		"ssh.user":                  "all | ops",
		"ssh.port":                  "host n1 | 2222",
		"ssh.agent":                 "default",
		"ssh.bastion":               "host n1 | []",
		"vars.mtu":                  "host n1 | 9000",
		"vars.rack":                 "group rack2 | two",
		"vars.row":                  "group row | 1}",
		"vars.tier":                 "all | {a: 1",
		"overrides.kubelet.maxPods": "group row | 10,",
		"overrides.kubelet.a.x":     "group row | 1}",
		"labels.rack":               "group rack2 | rack: \"2\"",
		"labels.disk":               "host n1 | disk: ssd",
		"taints":                    "group rack2",
	} {
		if !strings.HasPrefix(got[key], want) {
			t.Errorf("%s is from %q, want %q", key, got[key], want)
		}
	}
	if inv.Origins("nobody") != nil {
		t.Error("an unknown host has origins")
	}
}

func TestLoadReadsBesideTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "site.yaml")
	if err := os.WriteFile(path, []byte("ssh: {key: id}\nhosts: {a: }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inv, err := Load(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := inv.Hosts[0].SSH.Key; got != filepath.Join(dir, "id") {
		t.Errorf("key is %s", got)
	}
	if _, err := Load(filepath.Join(dir, "none.yaml"), Options{}); err == nil || !strings.Contains(err.Error(), "reading inventory") {
		t.Errorf("missing file: %v", err)
	}
}

func TestSectionsKeepTheirPlaces(t *testing.T) {
	inv := mustRead(t, full)
	var spec struct {
		Nmae string `yaml:"nmae"`
	}
	err := strictyaml.Decode(inv.File, inv.Cluster, &spec)
	if err == nil || err.Error() != `inventory.yaml:2:11: unknown key "name"; did you mean "nmae"?` {
		t.Errorf("got %v", err)
	}
}

// TestHostsBehindOneAddress: virtual machines and hosts behind NAT share an address and
// have a port each, which a group may give, too.
func TestHostsBehindOneAddress(t *testing.T) {
	t.Parallel()
	inv, err := Parse("inventory.yaml", []byte(`
hosts:
  box1: {address: 127.0.0.1}
  box2: {address: 127.0.0.1, ssh: {port: 2200}}
  box3: {address: "::ffff:127.0.0.1"}
  under: {address: Box_4.example}
groups: {late: {hosts: [box3], ssh: {port: 2201}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var ports []int
	for _, h := range inv.Hosts {
		ports = append(ports, h.SSH.Port)
	}
	if diff := cmp.Diff([]int{0, 2200, 2201, 0}, ports); diff != "" {
		t.Error(diff)
	}
}
