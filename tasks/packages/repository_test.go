package packages

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/strictyaml"
	"deployer/tasks/tasktest"
)

const someKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ==\n-----END PGP PUBLIC KEY BLOCK-----\n"

func TestRepository(t *testing.T) {
	t.Parallel()
	full := Repository{
		Name: "docker", Description: "Docker CE", URL: strictyaml.Texts{"https://example.org/a"}, Suites: strictyaml.Texts{"bookworm"},
		Components: strictyaml.Texts{"stable", "test"}, Key: someKey, Enabled: true, UpdateCache: true,
	}
	tests := []struct {
		program, source, key, want string
		module                     Repository
	}{
		{"/usr/bin/apt-get", "/etc/apt/sources.list.d/docker.sources", "/etc/apt/keyrings/docker.asc",
			"# Written by deployer.\nX-Description: Docker CE\nTypes: deb\nURIs: https://example.org/a\nSuites: bookworm\nComponents: stable test\n" +
				"Signed-By: /etc/apt/keyrings/docker.asc\n", full},
		{"/usr/bin/dnf", "/etc/yum.repos.d/docker.repo", "/etc/pki/rpm-gpg/RPM-GPG-KEY-docker",
			"# Written by deployer.\n[docker]\nname=Docker CE\nbaseurl=https://example.org/a\nenabled=1\ngpgcheck=1\ngpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-docker\n", full},
		{"/usr/bin/zypper", "/etc/zypp/repos.d/docker.repo", "/etc/pki/rpm-gpg/RPM-GPG-KEY-docker",
			"# Written by deployer.\n[docker]\nname=Docker CE\nbaseurl=https://example.org/a\nenabled=1\ngpgcheck=1\ngpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-docker\nautorefresh=1\n", full},
		{"/usr/bin/apt-get", "/etc/apt/sources.list.d/flat.sources", "",
			"# Written by deployer.\nEnabled: no\nTypes: deb deb-src\nURIs: http://a http://b\nSuites: ./\nArchitectures: amd64\nTrusted: yes\nPDiffs: no\n",
			Repository{Name: "flat", URL: strictyaml.Texts{"http://a", "http://b"}, Suites: strictyaml.Texts{"./"}, Types: strictyaml.Texts{"deb", "deb-src"},
				Architectures: strictyaml.Texts{"amd64"}, Trusted: true, Options: map[string]string{"PDiffs": "no"}}},
		{"/usr/bin/dnf", "/etc/yum.repos.d/mirrored.repo", "",
			"# Written by deployer.\n[mirrored]\nname=mirrored\nmirrorlist=http://m\nmetalink=http://l\nenabled=0\ngpgcheck=1\ngpgkey=file:///etc/key\npriority=9\n",
			Repository{Name: "mirrored", Mirrorlist: "http://m", Metalink: "http://l", KeyFile: "/etc/key", Options: map[string]string{"priority": "9"}}},
	}
	for _, tt := range tests {
		sys := host(t, tt.program, &distribution{})
		sys.Exec = tasktest.Script(map[string]tasktest.Answer{"apt-get": {}, "dnf": {}, "zypper": {}, "rpm --import " + tt.key: {}})
		sys.Write(t, tt.source, "old", 0o644)
		tasktest.Converge(t, sys, &tt.module)
		if diff := cmp.Diff(tt.want, sys.Read(t, tt.source)); diff != "" {
			t.Error(tt.program, diff)
		}
		if tt.key != "" && sys.Read(t, tt.key) != someKey {
			t.Errorf("%s: key %q", tt.program, sys.Read(t, tt.key))
		}
		ran := sys.Ran()
		if read := slices.ContainsFunc(ran, func(l string) bool { return strings.Contains(l, "update") || strings.Contains(l, "refresh") }); read != tt.module.UpdateCache {
			t.Errorf("%s: ran %q, want the lists read: %t", tt.program, ran, tt.module.UpdateCache)
		}
		if !slices.Contains(sys.Kept(), tt.source) {
			t.Errorf("%s: kept %q", tt.program, sys.Kept())
		}
		gone := tt.module
		gone.State = "absent"
		tasktest.Converge(t, sys, &gone)
		for _, path := range []string{tt.source, tt.key} {
			if _, err := os.Stat(sys.Path(path)); path != "" && err == nil {
				t.Errorf("%s is still there", path)
			}
		}
	}
}

// TestFailedUpdateOfListsIsRetriedByTheNextRun: an existing repository file alone does
// not mean that the lists are read.
func TestFailedUpdateOfListsIsRetriedByTheNextRun(t *testing.T) {
	t.Parallel()
	sys := host(t, "/usr/bin/apt-get", &distribution{})
	sys.Mkdir(t, "/etc/apt/sources.list.d")
	m := &Repository{Name: "x", URL: strictyaml.Texts{"http://a"}, Suites: strictyaml.Texts{"./"}, Trusted: true, Enabled: true, UpdateCache: true}
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{"apt-get": {Exit: 100, Stderr: "E: Failed to fetch http://a"}})
	if _, _, err := tasktest.Run(t, sys, m); err == nil {
		t.Fatal("a source that does not answer is no error")
	}
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{"apt-get": {}})
	time.Sleep(20 * time.Millisecond) // times of files are coarse
	if got := tasktest.Actions(tasktest.Converge(t, sys, m)); !slices.Equal(got, []string{"lists of packages: read those of x"}) {
		t.Errorf("the next run wants %q", got)
	}
}

func TestRepositoryErrors(t *testing.T) {
	t.Parallel()
	sys := host(t, "/usr/bin/apt-get", &distribution{})
	url, suites := strictyaml.Texts{"http://a"}, strictyaml.Texts{"stable"}
	for want, r := range map[string]*Repository{
		"may only have":                {Name: "../x"},
		"url is missing":               {Name: "x"},
		"exclude each other":           {Name: "x", URL: url, Key: someKey, KeyFile: "/k"},
		"is not a public key":          {Name: "x", URL: url, Key: "abc"},
		"set trusted: true":            {Name: "x", URL: url},
		"suites is missing":            {Name: "x", URL: url, Trusted: true},
		"components is missing":        {Name: "x", URL: url, Trusted: true, Suites: suites},
		"knows no mirrorlist":          {Name: "x", Mirrorlist: "http://m", Trusted: true, Suites: suites, Components: suites},
		"X-Description has more than ": {Name: "x", URL: url, Trusted: true, Suites: suites, Components: suites, Description: "a\nTrusted: yes"},
	} {
		if _, _, err := tasktest.Run(t, sys, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
