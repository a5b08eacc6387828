package roles_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/control/keyring"
	"deployer/tasks/control/snapshot"
)

// fakeEtcdctl prints the states of members in the form of etcdctl, and saves snapshots.
const fakeEtcdctl = `#!/bin/sh
case "$*" in
*"endpoint status"*) cat "$STATES"; exit 1 ;;
*"snapshot save"*) for last; do :; done; [ ! -e "$BROKEN" ] || { echo da > "$last.part"; exit 1; }; echo data > "$last" ;;
esac
`

// fakeEtcdutl verifies snapshots.
const fakeEtcdutl = `#!/bin/sh
echo '{"hash":1,"revision":12,"totalKey":7,"totalSize":4096,"version":"3.6.0"}'
`

// state returns a member in the form of etcdctl endpoint status --write-out=fields.
func state(host string, leader, learner bool) string {
	id, leads := 8613432312345678+int(host[1]), 1
	if leader {
		leads = id
	}
	return fmt.Sprintf("\"ClusterID\" : 1\n\"MemberID\" : %d\n\"Revision\" : 5\n\"Leader\" : %d\n\"IsLearner\" : %t\n\"Endpoint\" : \"https://10.0.0.1%s:2379\"\n\n", id, leads, learner, host[1:])
}

// TestEtcdBackupScript runs the script of m1, m2 and m3 on the states of the members:
// one of them saves a snapshot, and the oldest snapshots are removed.
func TestEtcdBackupScript(t *testing.T) {
	t.Parallel()
	actx := newSite(t, "nginx")
	for name, tt := range map[string]struct {
		states string
		broken bool
		saves  string // the host
		wrong  string
		stay   int // snapshots, when one was saved
	}{
		"a follower saves":                    {state("m1", true, false) + state("m2", false, false) + state("m3", false, false), false, "m2", "", 15},
		"the first follower":                  {state("m1", false, false) + state("m2", false, false) + state("m3", true, false), false, "m1", "", 15},
		"a follower is down":                  {state("m1", true, false) + state("m3", false, false), false, "m3", "", 15},
		"learners save nothing":               {state("m1", true, false) + state("m2", false, true), false, "m1", "", 15},
		"the leader alone":                    {state("m3", true, false), false, "m3", "", 15},
		"old snapshots exceed the size limit": {state("m1", true, false) + state("m3", false, false), false, "m3", "", 6},
		"no member responds":                  {"", false, "", "no member answers", 0},
		"the save is interrupted":             {state("m1", true, false) + state("m2", false, false), true, "", "", 0},
	} {
		for _, host := range []string{"m1", "m2", "m3"} {
			dir := t.TempDir()
			bin := filepath.Join(dir, "bin")
			snapshots := filepath.Join(dir, "snapshots")
			for _, d := range []string{bin, snapshots, filepath.Join(dir, "member/snap")} {
				if err := os.MkdirAll(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for file, text := range map[string]string{"bin/etcdctl": fakeEtcdctl, "bin/etcdutl": fakeEtcdutl, "states": tt.states, "member/snap/db": "data", "snapshots/.scheduled-killed.part": "x"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if tt.broken {
				writeFile(t, filepath.Join(dir, "broken"))
			}
			keys := filepath.Join(dir, "etcd-backup-keys.age")
			for file, text := range map[string]string{keys: "# Written by deployer.\nsealed\n", filepath.Join(snapshots, "removed.keys.age"): "x", filepath.Join(snapshots, "removed.mac"): "x", filepath.Join(snapshots, "old19.keys.age"): "x"} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 20 {
				file := filepath.Join(snapshots, fmt.Sprintf("old%02d.db", i))
				if err := os.WriteFile(file, make([]byte, 1024), 0o600); err != nil {
					t.Fatal(err)
				}
				when := time.Now().Add(time.Duration(i-100) * time.Hour)
				if err := os.Chtimes(file, when, when); err != nil {
					t.Fatal(err)
				}
			}
			limit := "max_kib=$((10240 * 1024))"
			if tt.stay == 6 {
				limit = "max_kib=5"
			}
			files := actx.files(t, host)
			script := strings.NewReplacer(append(authenticator(t, files), "/var/lib/deployer/etcd-snapshots", snapshots, "/usr/local/bin", bin, "/etc/deployer/etcd-backup-keys.age", keys, "'/var/lib/etcd'", "'"+dir+"'", "max_kib=$((10240 * 1024))", limit)...).
				Replace(files["/etc/deployer/etcd-backup.sh"])
			run := exec.Command("/bin/sh", "-c", script)
			run.Env = append(os.Environ(), "STATES="+filepath.Join(dir, "states"), "BROKEN="+filepath.Join(dir, "broken"))
			out, err := run.CombinedOutput()
			saved := strings.Contains(string(out), "saved "+snapshots+"/scheduled-")
			if saved != (tt.saves == host) || tt.wrong != "" && (err == nil || !strings.Contains(string(out), tt.wrong)) {
				t.Errorf("%s, on %s: saved %t, %v\n%s", name, host, saved, err, out)
			}
			if failed := tt.wrong != "" || tt.broken && host == "m2"; failed != (err != nil) {
				t.Errorf("%s, on %s: %v\n%s", name, host, err, out)
			}
			dbs, _ := filepath.Glob(filepath.Join(snapshots, "*.db"))
			parts, _ := filepath.Glob(filepath.Join(snapshots, ".*part"))
			if want := map[bool]int{true: tt.stay, false: 20}[saved]; len(dbs) != want {
				t.Errorf("%s, on %s: %d snapshots stay, want %d", name, host, len(dbs), want)
			}
			if (saved || tt.broken && host == "m2") && len(parts) > 0 {
				t.Errorf("%s, on %s: parts stay: %v", name, host, parts)
			}
			if saved {
				if info, err := os.Stat(dbs[len(dbs)-1]); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", name, info, err)
				}
				saved := strings.TrimSuffix(filepath.Base(dbs[len(dbs)-1]), ".db") + ".keys.age"
				if text, err := os.ReadFile(filepath.Join(snapshots, saved)); err != nil || string(text) != "sealed\n" {
					t.Errorf("%s: the keys beside the snapshot: %q, %v", name, text, err)
				}
				requireAuthentic(t, dbs[len(dbs)-1], "sealed\n")
				if old, _ := filepath.Glob(filepath.Join(snapshots, "*.mac")); len(old) != 1 {
					t.Errorf("%s: MACs %v, want that of the new snapshot", name, old)
				}
				beside, _ := filepath.Glob(filepath.Join(snapshots, "*.age"))
				if diff := cmp.Diff([]string{filepath.Join(snapshots, "old19.keys.age"), filepath.Join(snapshots, saved)}, beside); diff != "" {
					t.Errorf("%s: keys (-want +got):\n%s", name, diff)
				}
				if diff := cmp.Diff(fmt.Sprintf("old%02d.db", 21-tt.stay), filepath.Base(dbs[0])); diff != "" {
					t.Errorf("%s: the oldest that stays: %s", name, diff)
				}
			}
		}
	}
}

// authenticator writes the functions and the key that scripts of backups read, as the role writes
// them to a host, and returns their paths on hosts, each with its path here.
func authenticator(t *testing.T, files map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	var out []string
	for _, path := range []string{"/etc/deployer/etcd-backup-hmac.sh", "/etc/deployer/etcd-backup-mac.key"} {
		to := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(to, []byte(files[path]), 0o600); err != nil || files[path] == "" {
			t.Fatalf("%s has %q, %v", path, files[path], err)
		}
		out = append(out, path, to)
	}
	return out
}

// requireAuthentic verifies the MAC beside a snapshot with the key of the site; keys is the content of
// the file with the encrypted keys beside it, empty for none.
func requireAuthentic(t *testing.T, path, keys string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimSuffix(path, ".db") + snapshot.MACSuffix)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	verified := snapshot.Verified{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content))}
	m, err := snapshot.Claim(string(text), strings.TrimSuffix(filepath.Base(path), ".db"), verified)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := m.Verify(sampleBackupKey); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	want := snapshot.NoKeys
	if keys != "" {
		sum := sha256.Sum256([]byte(keys))
		want = hex.EncodeToString(sum[:])
	}
	if m.Keys != want {
		t.Errorf("the MAC names the keys %q, want %q", m.Keys, want)
	}
	if age := time.Since(m.Saved); age < -time.Second || age > time.Hour {
		t.Errorf("it was saved %s ago", age)
	}
	if (m.Verify(keyring.BackupKey("another key"))) == nil {
		t.Error("another key verifies the MAC")
	}
}

// TestEtcdBackupScriptOnAFullDisk: a disk without room for the snapshot and the spare space is
// refused before anything is written, and a disk that becomes full leaves nothing.
func TestEtcdBackupScriptOnAFullDisk(t *testing.T) {
	t.Parallel()
	const mib = 1024
	files := newSite(t, "nginx").files(t, "m1")
	for name, tt := range map[string]struct {
		freeKiB int
		fails   bool // the save fails, as without space
		wrong   string
		left    []string
	}{
		"room":                     {521 * mib, false, "", []string{"20260101.db", "scheduled.db"}},
		"no room for the database": {519 * mib, false, "has 519 MiB free, and the snapshot with 512 MiB to spare needs 520 MiB", []string{"20260101.db"}},
		"no space at all":          {0, false, "has 0 MiB free", []string{"20260101.db"}},
		"full while it is written": {521 * mib, true, "", []string{"20260101.db"}},
	} {
		dir := t.TempDir()
		bin, snapshots := filepath.Join(dir, "bin"), filepath.Join(dir, "snapshots")
		for file, text := range map[string]string{
			"bin/etcdctl": fakeEtcdctl, "bin/etcdutl": fakeEtcdutl, "states": state("m1", true, false),
			"bin/df":                fmt.Sprintf("#!/bin/sh\necho Filesystem\necho /dev/x 9 9 %d 9%% /\n", tt.freeKiB),
			"member/snap/db":        "",
			"snapshots/20260101.db": "of deployer etcd backup", "snapshots/.scheduled-killed.part.part": "x",
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Truncate(filepath.Join(dir, "member/snap/db"), 8*mib*1024); err != nil {
			t.Fatal(err)
		}
		if tt.fails {
			writeFile(t, filepath.Join(dir, "broken"))
		}
		script := strings.NewReplacer(append(authenticator(t, files), "/var/lib/deployer/etcd-snapshots", snapshots, "/usr/local/bin", bin, "/etc/deployer/etcd-backup-keys.age", filepath.Join(dir, "none"), "'/var/lib/etcd'", "'"+dir+"'")...).
			Replace(files["/etc/deployer/etcd-backup.sh"])
		run := exec.Command("/bin/sh", "-c", script)
		run.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "STATES="+filepath.Join(dir, "states"), "BROKEN="+filepath.Join(dir, "broken"))
		out, err := run.CombinedOutput()
		if fails := tt.wrong != "" || tt.fails; fails != (err != nil) || !strings.Contains(string(out), tt.wrong) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		entries, err := os.ReadDir(snapshots)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".mac") {
				continue
			}
			if strings.HasPrefix(e.Name(), "scheduled-") {
				left = append(left, "scheduled"+filepath.Ext(e.Name()))
				continue
			}
			left = append(left, e.Name())
		}
		if diff := cmp.Diff(tt.left, left); diff != "" {
			t.Errorf("%s: left (-want +got):\n%s", name, diff)
		}
	}
}

// TestEtcdBackupScriptOfCalico: the script of Calico's etcd asks its members with its own certificate, and
// saves an authentic snapshot without keys, under a name that no snapshot of the cluster's own etcd has.
func TestEtcdBackupScriptOfCalico(t *testing.T) {
	t.Parallel()
	files := newSite(t, "calico-etcd").files(t, "e1")
	dir := t.TempDir()
	bin, snapshots, own := filepath.Join(dir, "bin"), filepath.Join(dir, "snapshots"), filepath.Join(dir, "own.age")
	status := strings.NewReplacer("https://10.0.0.11:2379", "https://10.0.2.1:2579").Replace(state("m1", true, false))
	for file, text := range map[string]string{
		"bin/etcdctl": strings.Replace(fakeEtcdctl, "case", `echo "$*" >> "$STATES.calls"`+"\ncase", 1), "bin/etcdutl": fakeEtcdutl, "states": status, "member/snap/db": "data", "own.age": "# Written by deployer.\nsealed\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer(append(authenticator(t, files), "/var/lib/deployer/etcd-calico-snapshots", snapshots, "/usr/local/bin", bin, "/etc/deployer/etcd-backup-keys.age", own, "'/srv/etcd-calico'", "'"+dir+"'")...).
		Replace(files["/etc/deployer/etcd-calico-backup.sh"])
	run := exec.Command("/bin/sh", "-c", script)
	run.Env = append(os.Environ(), "STATES="+filepath.Join(dir, "states"))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	saved, _ := filepath.Glob(filepath.Join(snapshots, "scheduled-calico-*-e1.db"))
	if keys, _ := filepath.Glob(filepath.Join(snapshots, "*.age")); len(saved) != 1 || len(keys) > 0 {
		t.Fatalf("snapshots %q, keys %q", saved, keys)
	}
	requireAuthentic(t, saved[0], "")
	calls, err := os.ReadFile(filepath.Join(dir, "states.calls"))
	if err != nil || strings.Contains(string(calls), "healthcheck-client") || !strings.Contains(string(calls), "--endpoints=https://10.0.2.1:2579,https://10.0.2.2:2579") {
		t.Errorf("%v\n%s", err, calls)
	}
}
