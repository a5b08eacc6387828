package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrphansAreTheCommandsThatMakeTheLab(t *testing.T) {
	proc := t.TempDir()
	for pid, line := range map[string]string{
		"1":  "/sbin/init",
		"10": "podman --runtime=runc run --detach --name=deployer-lab-a.m1 --hostname=m1 image",
		"11": "podman run --name=deployer-lab-a-b.m1 image",
		"12": "/usr/bin/podman start deployer-lab-a.m2",
		"13": "podman exec -it deployer-lab-a.m1 bash",
		"14": "/usr/bin/conmon -n deployer-lab-a.m1 run",
		"15": "ip -n deployer-lab-a -batch -",
		"16": "nsenter --net=/run/netns/deployer-lab-a -- ip route",
		"17": "",
	} {
		dir := filepath.Join(proc, pid)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(line, " ", "\x00")
		if err := os.WriteFile(filepath.Join(dir, "cmdline"), []byte(text+"\x00"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := orphans(proc, "a")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"podman --runtime=runc run --detach --name=deployer-lab-a.m1 --hostname=m1 image",
		"/usr/bin/podman start deployer-lab-a.m2",
		"ip -n deployer-lab-a -batch -",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
