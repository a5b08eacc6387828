package roles_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var chownScript = regexp.MustCompile(`ExecStartPre=\+/bin/sh -c '([^']*chown[^']*)' sh "([^"]*)"`)

// TestEtcdsOwnerFollowsNoLinkOfEtcd: the command that gives etcd's directories to its user
// follows a directory's own link when it is root's, and no other: etcd could make root give
// it /etc.
func TestEtcdsOwnerFollowsNoLinkOfEtcd(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	found := chownScript.FindStringSubmatch(newSite(t, "apart").files(t, "e1")["/etc/systemd/system/etcd.service"])
	if found == nil || found[2] != "/var/lib/etcd" {
		t.Fatalf("the unit does not set the owner of /var/lib/etcd: %q", found)
	}
	const user = 65534
	script := strings.NewReplacer("$$", "$", "%%", "%", "etcd:etcd", "65534:65534").Replace(found[1])
	for name, c := range map[string]struct {
		dir      func(t *testing.T, data, victim string) string
		data     bool // belongs to the user afterwards
		wantLink int  // owner of the link afterwards
	}{
		"a directory": {func(_ *testing.T, data, _ string) string { return data }, true, 0},
		"a link of root": {func(t *testing.T, data, _ string) string {
			return link(t, data, filepath.Join(filepath.Dir(data), "link"), 0)
		}, true, 0},
		"a link of etcd": {func(t *testing.T, _, victim string) string {
			return link(t, victim, filepath.Join(filepath.Dir(victim), "link"), user)
		}, false, user},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			data, victim := filepath.Join(top, "data"), filepath.Join(top, "victim")
			for _, dir := range []string{data + "/member", victim} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(victim+"/shadow", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			link(t, victim, data+"/member/wal", user)
			dir := c.dir(t, data, victim)
			if out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", script, "sh", dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want := map[string]int{victim: 0, victim + "/shadow": 0, data + "/member": 0}
			if c.data {
				want[data], want[data+"/member"] = user, user
			}
			if dir != data {
				want[dir] = c.wantLink
			}
			for path, uid := range want {
				if got := ownerOf(t, path); got != uid {
					t.Errorf("%s belongs to %d, want %d", path, got, uid)
				}
			}
		})
	}
}

// link makes a symbolic link that belongs to a user, and returns its path.
func link(t *testing.T, target, path string, uid int) string {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(path, uid, uid); err != nil {
		t.Fatal(err)
	}
	return path
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}
