package roles_test

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/project"
	"deployer/templates"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff before you believe it")

// goldenHosts returns the hosts of each sample inventory that have golden files: one of
// each kind.
func goldenHosts() map[string][]string {
	return map[string][]string{
		"nginx":             {"m1", "n1"},
		"haproxy":           {"m1", "n2"},
		"single":            {"solo"},
		"apart":             {"e1", "m2", "p1"},
		"events":            {"e1", "m1"},
		"apart-haproxy":     {"n1", "p1"},
		"calico":            {"m1", "n1"},
		"calico-etcd":       {"e1", "m1", "n1"},
		"racks":             {"m1", "n1", "n2"},
		"virtual-ip":        {"m1", "m2"},
		"virtual-proxy":     {"m1", "p1"},
		"dual-stack":        {"m1", "n2", "p1"},
		"calico-dual-stack": {"n1"},
		"calico-ipv6":       {"m1"},
		"ipv6-first":        {"n1"},
		"proxy-tls":         {"m1", "p1"},
		"ipv6":              {"m1", "n1", "p1"},
	}
}

// TestGolden compares every file that install writes to a host with its golden file.
func TestGolden(t *testing.T) {
	for name, hosts := range goldenHosts() {
		s := newSite(t, name)
		for _, host := range hosts {
			t.Run(name+"/"+host, func(t *testing.T) {
				compareGolden(t, name+"/"+host, s.files(t, host))
			})
		}
	}
}

// TestGoldenOfCalicoBuilds compares the files that are others with the version of Calico that artifacts build
// makes than with that of the catalogue.
func TestGoldenOfCalicoBuilds(t *testing.T) {
	const version = "v3.28.4"
	for name, hosts := range map[string][]string{"calico": {"m1", "n1"}, "calico-etcd": {"m1"}} {
		newest, built := newSite(t, name), newSiteWith(t, name, "install", map[string]string{"calico": version})
		for _, host := range hosts {
			t.Run(name+"/"+host, func(t *testing.T) {
				files := built.files(t, host)
				if !strings.Contains(files["/etc/kubernetes/manifests/calico-node.yaml"], version) {
					t.Errorf("calico-node is not of %s", version)
				}
				for path, content := range newest.files(t, host) {
					if files[path] == content {
						delete(files, path)
					}
				}
				compareGolden(t, name+"-v3.28/"+host, files)
			})
		}
	}
}

// compareGolden compares files with the golden file of a name, or rewrites it.
func compareGolden(t *testing.T, name string, files map[string]string) {
	t.Helper()
	got := archive(files)
	golden := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test ./roles -update rewrites it):\n%s", golden, diff)
	}
}

// TestEveryTemplateIsRendered checks that the sample inventories render every template.
func TestEveryTemplateIsRendered(t *testing.T) {
	seen := map[string]int{}
	sites := []*site{newSiteOf(t, "calico", "network-plugin"), newSiteOf(t, "haproxy", "network-plugin-bgp")}
	for _, name := range append(slices.Collect(maps.Keys(goldenHosts())), "addresses") {
		s := newSite(t, name)
		s.changeSessions(t)
		sites = append(sites, s)
	}
	for _, s := range sites {
		for _, host := range project.ClusterHosts(s.inv, s.cluster) {
			s.files(t, host)
		}
		for template, n := range s.templates {
			seen[template] += n
			seen[path.Base(template)] += n // a template that several roles share
		}
	}
	included := map[string]bool{}
	walkTemplates(t, func(file, content string) {
		for _, m := range includeCall.FindAllStringSubmatch(content, -1) {
			included[path.Join(path.Dir(file), m[1])] = seen[file] > 0
		}
	})
	walkTemplates(t, func(file, _ string) {
		if seen[file] == 0 && !included[file] {
			t.Errorf("no sample renders %s", file)
		}
	})
}

var includeCall = regexp.MustCompile(`include "([^"]+)"`)

// walkTemplates calls f for each template file.
func walkTemplates(t *testing.T, f func(file, content string)) {
	t.Helper()
	err := fs.WalkDir(templates.FS, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(templates.FS, file)
		f(file, string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnitsAvoidSharedDirectories checks that units which run as root name no path in a
// directory that all users can write to.
func TestUnitsAvoidSharedDirectories(t *testing.T) {
	for name, hosts := range goldenHosts() {
		s := newSite(t, name)
		for _, host := range hosts {
			for file, content := range s.files(t, host) {
				if (strings.HasPrefix(file, "/etc/systemd/system/") || strings.HasPrefix(file, "/etc/deployer/")) && strings.Contains(content, "/tmp") {
					t.Errorf("%s of %s names /tmp:\n%s", file, host, content)
				}
			}
		}
	}
}

// TestEtcdIsNotRoot checks that etcd runs as its own user and writes to its directories
// only.
func TestEtcdIsNotRoot(t *testing.T) {
	for name, host := range map[string]string{"nginx": "m1", "single": "solo", "apart": "e1"} {
		unit := newSite(t, name).files(t, host)["/etc/systemd/system/etcd.service"]
		for _, want := range []string{"User=etcd", "Group=etcd", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "ProtectHome=yes",
			`ReadWritePaths="/var/lib/etcd"`} {
			if !strings.Contains(unit, "\n"+want+"\n") {
				t.Errorf("%s, %s: etcd's unit lacks %s", name, host, want)
			}
		}
		for _, secret := range []string{"key-file=/etc/kubernetes", "cert-file=/etc/kubernetes"} {
			if strings.Contains(unit, secret) {
				t.Errorf("%s, %s: etcd reads what is root's: %s", name, host, secret)
			}
		}
	}
}

// TestUnitsHaveMarkerLine checks that units begin with the line by which tasks/receipt
// recognises files of deployer on a host without receipts.
func TestUnitsHaveMarkerLine(t *testing.T) {
	for name, hosts := range goldenHosts() {
		s := newSite(t, name)
		for _, host := range hosts {
			units := 0
			for file, content := range s.files(t, host) {
				if strings.HasPrefix(file, "/etc/systemd/system/") {
					units++
					if !strings.HasPrefix(content, "# Written by deployer") {
						t.Errorf("%s of %s begins with %.40q", file, host, content)
					}
				}
			}
			if units == 0 {
				t.Errorf("%s has no unit", host)
			}
		}
	}
}
