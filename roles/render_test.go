package roles_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/images"
	"deployer/inventory"
	"deployer/project"
	"deployer/roles"
	"deployer/tasks/control/calico"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/file"
	"deployer/tasks/timer"
)

// site is a sample inventory with its resolved cluster, the compiled install playbook,
// and the results that tasks of a first run register.
type site struct {
	inv     *inventory.Inventory
	cluster *cluster.Cluster
	vars    *project.Variables
	program *program.Program
	found   map[string]any
	images  map[string]string
	// templates has the number of times that each template was rendered, by role and name.
	templates map[string]int
	// see is called with the arguments of each task that is rendered, and with the module
	// that they become; nil: nothing.
	see func(task *program.Task, host string, step any)
}

func newSite(t *testing.T, name string) *site {
	t.Helper()
	return newSiteOf(t, name, "install")
}

// newSiteOf returns a sample inventory with another playbook than install.
func newSiteOf(t *testing.T, name, playbook string) *site {
	t.Helper()
	return newSiteWith(t, name, playbook, nil)
}

// newSiteWith returns a sample inventory whose source of artifacts offers other versions than the default ones,
// by artifact name.
func newSiteWith(t *testing.T, name, playbook string, offered map[string]string) *site {
	t.Helper()
	inv, err := inventory.Load(filepath.Join("testdata", "inventories", name+".yaml"), inventory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{inv: inv, templates: map[string]int{}}
	if s.cluster, err = project.ResolveCluster(inv, "", offered); err != nil {
		t.Fatal(err)
	}
	s.images = imageNames(t, s.cluster)
	digests := map[string]map[string]string{}
	for name, ref := range s.images {
		digests[ref] = map[string]string{"amd64": "sha256:of-" + name}
	}
	given := map[string]project.HostVars{}
	for _, h := range inv.Hosts {
		given[h.Name] = project.HostVars{Own: h.Vars, Shared: h.Vars}
	}
	if s.vars, err = project.NewVariables(inv, given, s.cluster, project.Images{Cluster: s.images, Name: imageName(t)}); err != nil {
		t.Fatal(err)
	}
	s.vars.SetImageDigests(digests)
	s.vars.SetKeepers(everyKeeper{})
	lib := compiler()
	lib.Match = func(pattern string) ([]string, error) {
		return inventory.Match(pattern, project.ClusterHosts(inv, s.cluster), project.ClusterGroups(inv, s.cluster))
	}
	if s.program, err = lib.Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+playbook+".yaml"); err != nil {
		t.Fatal(err)
	}
	s.found = findings(t, s.cluster)
	return s
}

// everyKeeper carries the keepers of all architectures.
type everyKeeper struct{}

func (everyKeeper) KeeperBinary(string) ([]byte, error) { return nil, nil }
func (everyKeeper) CarriesKeeper(string) error          { return nil }

func imageNames(t *testing.T, c *cluster.Cluster) map[string]string {
	t.Helper()
	out := map[string]string{"probe": "deployer.local/probe:sample"} // made of the agent, not catalogued
	for name, version := range project.ClusterVersions(c) {
		if ref := imageName(t)(name, version); ref != "" {
			out[name] = ref
		}
	}
	return out
}

// imageName returns the function that names the images of the catalogue.
func imageName(t *testing.T) func(name, version string) string {
	t.Helper()
	catalogue, err := images.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return func(name, version string) string {
		artifact, err := catalogue.Artifact(name)
		if err != nil || artifact.Kind != images.KindImage {
			return ""
		}
		return artifact.ImageName(images.Ref{Name: name, Version: version})
	}
}

// calicoSessions returns the result of calico_sessions when nothing changes.
func calicoSessions(c *cluster.Cluster) map[string]any {
	none := map[string]any{}
	for _, name := range c.NodeNames {
		none[name] = []any{}
	}
	return map[string]any{
		"new": false, "needed": false, "restarts": false, "begun": false, "present_sessions": none,
		"former": map[string]any{"password_key": "", "restart_time": ""},
		"canary": map[string]any{"node": "", "reflector": false, "former_reflector": false, "sessions": []any{}, "leftover": false, "restarts": false},
		"become": []any{}, "leave": []any{}, "mesh_sessions": none,
		"changed_sessions": none, "transition_sessions": none, "sessions": none,
	}
}

// calicoRouters returns labels by which no node has sessions with routers.
func calicoRouters(c *cluster.Cluster) map[string]any {
	out := map[string]any{}
	for _, name := range c.NodeNames {
		out[name] = map[string]any{}
	}
	return out
}

// findings returns the results that tasks of a first run register: pod ranges, and the
// plan of a new etcd cluster.
func findings(t *testing.T, c *cluster.Cluster) map[string]any {
	t.Helper()
	var nodes []cluster.PodRange
	for _, name := range c.NodeNames {
		nodes = append(nodes, cluster.PodRange{Name: name})
	}
	got, err := c.AllocatePodRanges(nodes)
	if err != nil {
		t.Fatal(err)
	}
	ranges := map[string]any{}
	for name, list := range got.Ranges {
		ranges[name] = strings.Join(list, ",")
	}
	found := firstFindings(c, ranges)
	if c.EtcdEvents != nil {
		found["etcd_events_plan"] = planOfNew(*c.EtcdEvents)
	}
	if c.EtcdCalico != nil {
		found["etcd_calico_plan"] = planOfNew(*c.EtcdCalico)
	}
	return found
}

// planOfNew returns the plan of an etcd cluster of which no host has data.
func planOfNew(e cluster.Etcd) map[string]any {
	var probes []cluster.EtcdProbe
	for _, p := range e.Peers {
		probes = append(probes, cluster.EtcdProbe{Name: p.Name, PeerURL: p.URL, Reachable: true})
	}
	plan, hosts := cluster.PlanEtcd(probes, nil), map[string]any{}
	for name, step := range plan.Hosts {
		hosts[name] = map[string]any{"action": step.Action, "serves": step.Serves, "initial_cluster": step.InitialCluster, "initial_state": step.InitialState}
	}
	return map[string]any{"bootstrap": plan.Bootstrap, "hosts": hosts}
}

func firstFindings(c *cluster.Cluster, ranges map[string]any) map[string]any {
	return map[string]any{
		"keeper_found":            map[string]any{"exists": true},
		"name_servers_found":      map[string]any{"file": "/etc/resolv.conf", "servers": []any{}},
		"api_proxy":               map[string]any{"changed": false, "failed": false, "skipped": false},
		"network_manager":         map[string]any{"changed": false, "failed": false, "skipped": false},
		"networkd_interfaces":     map[string]any{"changed": false, "failed": false, "skipped": false},
		"pod_cidrs":               ranges,
		"pod_mtu":                 map[string]any{"mtu": c.Network.MTU},
		"bgp_transition":          map[string]any{"needed": false, "both": map[string]any{}, "final": map[string]any{}},
		"bgp_transition_now":      map[string]any{"changed": false, "failed": false, "skipped": true},
		"key_digests":             map[string]any{"changed": false, keyring.EncryptionConf: "sample of a digest"},
		"etcd_plan":               planOfNew(c.Etcd),
		"virtual_ip_device":       map[string]any{"stdout": "eth0\n"},
		"virtual_ip_network":      map[string]any{"stdout": "10.0.0.0/24 proto kernel\n"},
		"virtual_ip_foreign":      map[string]any{"stdout": ""},
		"witness_package":         map[string]any{"changed": false, "failed": false, "skipped": false},
		"keepalived_package":      map[string]any{"changed": false, "failed": false, "skipped": false},
		"proxy_package":           map[string]any{"changed": false, "failed": false, "skipped": false},
		"bgp_password":            map[string]any{"changed": true, "failed": false, "skipped": false, "replaced": false},
		"calico_first":            map[string]any{"new": true},
		"calico_routers":          map[string]any{"labels": calicoRouters(c), "present": calicoRouters(c)},
		"calico_router_sessions":  map[string]any{"sessions": []any{}, "routes": []any{}, "configured": []any{}},
		"calico_sessions":         calicoSessions(c),
		"calico_routes":           map[string]any{"sessions": []any{}, "since": map[string]any{}, "routes": []any{}},
		"former_plugin":           map[string]any{"files": map[string]any{"/etc/cni/net.d/10-deployer.conflist": "{}"}},
		"plugin_routes":           map[string]any{"files": map[string]any{}},
		"plugin_change":           map[string]any{"needed": true},
		"calico_leave":            map[string]any{"blocks": map[string]any{"m1": []any{"10.244.99.0/26"}, "n1": []any{"10.244.98.0/26"}}},
		"calico_left":             map[string]any{"left": []any{}, "sessions": calicoSessions(c)["sessions"]},
		"calico_left_files":       map[string]any{"stdout": ""},
		"former_calico":           map[string]any{"stdout": ""},
		"far_nodes":               map[string]any{"stdout": ""},
		"former_sessions":         map[string]any{"sessions": []any{}, "routes": []any{}, "configured": []any{}},
		"new_bridge":              map[string]any{"stdout": ""},
		"failure":                 map[string]any{"message": "sample"},
		"former_bridge":           map[string]any{"stdout": ""},
		"changed_pods":            map[string]any{"problems": []any{}},
		"maintenance_hooks":       []any{},
		"calico_blocks":           map[string]any{"left": []any{}, "blocks": map[string]any{}},
		"standby_present":         map[string]any{"stdout": ""},
		"settings_found":          map[string]any{"calico_version": ""},
		"calico_before":           map[string]any{"sessions": []any{}, "routes": []any{}},
		"dns_cache_found":         map[string]any{"pods": []any{}, "keep": map[string]any{}},
		"bird_before":             map[string]any{"sessions": []any{}, "routes": []any{}, "configured": []any{}},
		"containerd_unit":         map[string]any{"changed": false, "failed": false, "skipped": false, "files": map[string]any{}, "missing": []any{}},
		"etcd_added":              map[string]any{"changed": false, "failed": false, "skipped": false},
		"facts":                   map[string]any{"os": "debian", "os_version": "12", "os_family": "debian", "arch": "amd64", "cpus": 2, "addresses": []any{}},
		"run":                     map[string]any{"id": "20260102-030405.000", "check": false},
		"etcd_backup_mac_key":     map[string]any{"key": hex.EncodeToString(sampleBackupKey), "fingerprint": sampleBackupKey.Fingerprint()},
		"etcd_backup_keys":        map[string]any{"content": "# Written by deployer. Sample of encrypted keys.\n"},
		"etcd_restore_unfinished": map[string]any{"exists": false},
	}
}

// sampleBackupKey is the key for backups of all sites.
var sampleBackupKey = keyring.BackupKey(strings.Repeat("\x0b", 32))

// files renders the files that the playbook writes to a host, and the Kubernetes objects
// that it applies, by path; objects are below "kubernetes:".
func (s *site) files(t *testing.T, host string) map[string]string {
	t.Helper()
	vars := lang.NewVars(s.vars.ForHost(host), s.found)
	out := map[string]string{}
	for _, task := range s.program.Tasks {
		if !s.targets(t, task, host) || !s.applies(t, task, vars) {
			continue
		}
		for _, item := range s.items(t, task, vars) {
			mark := vars.Depth()
			if task.Loop != nil {
				vars.Set("item", item)
			}
			if err := s.render(task, host, vars, out); err != nil {
				t.Errorf("%s: task %q: %v", host, task.Name, err)
			}
			vars.PopTo(mark)
		}
	}
	return out
}

func (s *site) targets(t *testing.T, task *program.Task, host string) bool {
	t.Helper()
	hosts, err := inventory.Match(task.Play.Hosts, project.ClusterHosts(s.inv, s.cluster), project.ClusterGroups(s.inv, s.cluster))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(hosts, host)
}

func (s *site) applies(t *testing.T, task *program.Task, vars *lang.Vars) bool {
	t.Helper()
	var blocks []*program.Block // the outer ones first: inner conditions may read what only these hosts have
	for b := task.Block; b != nil; b = b.Parent {
		blocks = append([]*program.Block{b}, blocks...)
	}
	for _, b := range blocks {
		ok, _, err := b.Applies(vars)
		if err != nil {
			t.Errorf("block %q: %v", b.Name, err)
		}
		if !ok {
			return false
		}
	}
	ok, _, err := task.Applies(vars)
	if err != nil {
		t.Errorf("task %q: %v", task.Name, err)
	}
	return ok
}

func (s *site) items(t *testing.T, task *program.Task, vars *lang.Vars) []any {
	t.Helper()
	if task.Loop == nil {
		return []any{nil}
	}
	items, err := task.Items(vars)
	if err != nil {
		t.Errorf("task %q: %v", task.Name, err)
	}
	return items
}

// renderObjects renders a template of objects.
func (s *site) renderObjects(c *controller, template string, out map[string]string) error {
	text, err := c.Render(template)
	if err != nil {
		return err
	}
	if s.see != nil {
		s.see(c.task, c.host, string(text))
	}
	out["kubernetes:"+template] = string(text)
	return nil
}

// render renders one task as the scheduler does before dispatch.
func (s *site) render(task *program.Task, host string, vars *lang.Vars, out map[string]string) error {
	defer vars.PopTo(vars.Depth())
	if err := vars.PushScope(task.Scopes, task.Refs()); err != nil {
		return err
	}
	args, err := task.BuildArgs(vars)
	if err != nil {
		return err
	}
	c := &controller{site: s, task: task, host: host, vars: vars}
	if s.see != nil {
		s.see(task, host, args)
	}
	switch a := args.(type) {
	case *kube.ApplyManifests:
		if a.Manifests.Artifact != "" { // no file of a role
			return nil
		}
		return s.renderObjects(c, a.Manifests.Template, out)
	case *calico.Apply:
		return s.renderObjects(c, a.Template, out)
	case *file.File:
		out[a.Path] = contentOf(a)
	case *timer.Timer: // the module's own tests have the whole units
		units := "/etc/systemd/system/" + a.Name
		out[units+".timer"] = "# Written by deployer.\n[Timer]\nOnCalendar=" + strings.Join(a.OnCalendar, " ") + "\n"
		out[units+".service"] = "# Written by deployer.\n[Service]\nType=oneshot\nExecStart=" + strings.Join(a.Command, " ") + "\n"
	case engine.Preparer:
		_, module, err := a.Prepare(context.Background(), c)
		if err != nil {
			return err
		}
		if s.see != nil {
			s.see(task, host, module)
		}
		if f, ok := module.(*file.File); ok {
			out[f.Path] = contentOf(f)
		}
	}
	return nil
}

// contentOf returns the content of a file as its task has it; empty for one without.
func contentOf(f *file.File) string {
	if f.Content == nil {
		return ""
	}
	return *f.Content
}

// controller implements engine.PrepareContext.
type controller struct {
	site *site
	task *program.Task
	host string
	vars *lang.Vars
}

func (c *controller) Host() string { return c.host }

func (c *controller) Vars() map[string]any { return c.vars.Clone() }

func (c *controller) Render(name string) ([]byte, error) {
	tpl, err := c.task.Files.Template(name)
	if err != nil {
		return nil, err
	}
	if err := c.vars.PushScope(c.task.Scopes, tpl.Refs()); err != nil {
		return nil, err
	}
	c.site.templates[c.task.Role+"/"+name]++
	text, err := tpl.Content(c.vars.Map())
	return []byte(text), err
}

func (c *controller) File(name string) ([]byte, error) { return c.task.Files.File(name) }

func (c *controller) AddBlob([]byte) string { return strings.Repeat("0", 64) }

func (c *controller) Walk(name string) ([]engine.FileEntry, error) { return c.task.Files.Walk(name) }

func (c *controller) FileBlob(context.Context, string) (engine.Blob, error) {
	return engine.Blob{Digest: strings.Repeat("0", 64)}, nil
}

func (c *controller) Download(_ context.Context, _, digest string) (engine.Blob, error) {
	return engine.Blob{Digest: digest}, nil
}

func (c *controller) Artifact(_ context.Context, name, version string) (engine.Blob, error) {
	if version == "" {
		return engine.Blob{}, fmt.Errorf("artifact %s has no version", name)
	}
	return engine.Blob{Digest: strings.Repeat("0", 64), Size: 1}, nil
}

// archive joins files in one text, sorted by path.
func archive(files map[string]string) []byte {
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	var b bytes.Buffer
	for _, p := range paths {
		fmt.Fprintf(&b, "-- %s --\n%s", p, files[p])
		if !strings.HasSuffix(files[p], "\n") {
			b.WriteString("\n")
		}
	}
	return b.Bytes()
}
