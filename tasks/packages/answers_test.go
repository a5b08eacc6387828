package packages

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseDpkgStatus: the parser returns installed packages and the names that they
// provide.
func TestParseDpkgStatus(t *testing.T) {
	t.Parallel()
	have := versions{}
	readDpkg(have, "bash amd64 installed 5.2-1\nold amd64 config-files 1\nhalf amd64 half-configured 1\nlib amd64 triggers-pending 3:1-1\nodd\n")
	readProvides(have, "installed 1.3 awk\ninstalled 2 mta (= 2), editor\nconfig-files 1 gone\n")
	want := map[string]string{"bash": "5.2-1", "bash:amd64": "5.2-1", "lib": "3:1-1", "lib:amd64": "3:1-1", "awk": "1.3", "mta": "2", "editor": "2"}
	got := map[string]string{}
	for name := range have {
		if have.has(name) {
			got[name] = have[name].shown()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !have["old"].leftovers || have.has("old") {
		t.Errorf("old is %+v, want leftovers only", have["old"])
	}
}

// TestVersionMatchesShortForms: a version may be written without epoch and release.
func TestVersionMatchesShortForms(t *testing.T) {
	t.Parallel()
	kernel := readRPM("kernel x86_64 0 6.1 1.el9\npackage x is not installed\nkernel x86_64 0 6.2 1.el9\nno package provides y\n")["kernel"]
	for version, want := range map[string]bool{
		"6.1": true, "6.1-1.el9": true, "0:6.2": true, "6.*": true, "6.2-*": true, "6.3": false, "1:6.1": false, "6": false,
	} {
		if got := kernel.is(version); got != want {
			t.Errorf("%s: %t, want %t", version, got, want)
		}
	}
}

func TestParseNewerVersions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ got, want map[string]string }{
		"apt": {
			policies("nginx:\n  Installed: 1.22-1\n  Candidate: 1.22-2\n  Version table:\n     1.22-2 500\n" +
				"held:\n  Installed: 1\n  Candidate: 1\nnone:\n  Installed: (none)\n  Candidate: 3\n"),
			map[string]string{"nginx": "1.22-2"},
		},
		"apt, all": {
			simulated("NOTE: This is only a simulation!\nInst bash [5.2-1] (5.2-2 Debian:12/stable [amd64]) []\nInst extra (1 Debian [amd64])\nConf bash (5.2-2)\n"),
			map[string]string{"bash": "5.2-2"},
		},
		"dnf": {
			checkUpdate("\nbash.x86_64   5.2-2.el9   baseos\npython3.11.noarch 3-1 app\nSecurity: x\nObsoleting Packages\nold.noarch 1 base\n"),
			map[string]string{"bash": "5.2-2.el9", "python3.11": "3-1"},
		},
		"zypper": {
			listUpdates("S | Repository | Name | Current Version | Available Version | Arch\n--+--\nv | main | bash | 5.2-1 | 5.2-2 | x86_64\n"),
			map[string]string{"bash": "5.2-2"},
		},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestVirtualPackageIsNotRemoved(t *testing.T) {
	t.Parallel()
	have := versions{}
	readProvides(have, "installed 2 mta\n")
	wants := []want{{choices: []string{"mta"}}}
	if jobs := toRemove(wants, have, false); len(jobs) > 0 || len(toInstall(wants, have)) > 0 {
		t.Errorf("removes %+v", jobs)
	}
}
