package main

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/engine"
	"deployer/runs"
	"deployer/tasks/control/report"
)

func TestBackupOutcome(t *testing.T) {
	t.Parallel()
	failed := func(hosts ...string) *engine.Report {
		r := &engine.Report{}
		for _, name := range []string{"m1", "m2", "m3"} {
			h := engine.HostReport{Host: name}
			if strings.Contains(strings.Join(hosts, " "), name) {
				h.Failure = &engine.Failure{Message: "no route to host"}
			}
			r.Hosts = append(r.Hosts, h)
		}
		return r
	}
	interrupted := failed()
	interrupted.Interrupted = true
	for name, tt := range map[string]struct {
		report   *engine.Report
		snapshot string // its host
		want     int
	}{
		"all masters are reachable":                    {failed(), "m2", exitOK},
		"another master is down":                       {failed("m1"), "m2", exitOK},
		"the copy failed":                              {failed("m2"), "m2", exitPartial},
		"no snapshot":                                  {failed("m1"), "", exitPartial},
		"all masters failed":                           {failed("m1", "m2", "m3"), "", exitRefused},
		"interrupted after the snapshot was on a host": {interrupted, "m2", exitInterrupted},
		"interrupted before the snapshot was saved":    {interrupted, "", exitInterrupted},
	} {
		if got := exitCode(backupOutcome(tt.report, tt.snapshot)); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", name, got, tt.want)
		}
	}
}

// TestBackupOfMembersThatAreDown: with most masters gone, the run takes the lock of
// the remaining masters and reads their data; without --offline the error names the
// flag.
func TestBackupOfMembersThatAreDown(t *testing.T) {
	s := newCertifiedSite(t)
	text, err := os.ReadFile("inventory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	doc["roles"] = map[string]any{"master": []string{s.fleet.Hosts[0].Name, s.fleet.Hosts[1].Name}}
	doc["cluster"].(map[string]any)["etcd"] = map[string]any{"allow_even": true}
	if text, err = yaml.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	s.write("inventory.yaml", string(text))
	s.fleet.Hosts[1].Stop()
	stdout, stderr := s.deployer(exitRefused, "etcd", "backup")
	if !strings.Contains(stdout+stderr, "deployer etcd backup --offline") {
		t.Errorf("the way on is not named:\n%s%s", stdout, stderr)
	}
	stdout, stderr = s.deployer(exitRefused, "etcd", "backup", "--offline")
	if !strings.Contains(stdout+stderr, "no host has saved a snapshot: at least one etcd host must be reachable and have the data") {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// TestDamagedSnapshotIsRefused: a snapshot in which one bit differs, or whose end is missing,
// ends a restore before any host is reached, with and without keys.
func TestDamagedSnapshotIsRefused(t *testing.T) {
	s := newCertifiedSite(t)
	for _, h := range s.fleet.Hosts {
		h.Stop()
	}
	content := bytes.Repeat([]byte("data"), 1024)
	sum := sha256.Sum256(content)
	whole := append(content, sum[:]...)
	flipped := bytes.Clone(whole)
	flipped[1000] ^= 1
	s.write("whole.db", string(whole))
	s.write("flipped.db", string(flipped))
	s.write("truncated.db", string(whole[:len(whole)-512]))
	s.write("unsealed.db", string(content))
	s.write("keys.age", "keys")
	for file, want := range map[string]string{"flipped.db": "flipped.db is damaged", "truncated.db": "truncated.db is damaged", "unsealed.db": "no whole snapshot"} {
		for _, keys := range [][]string{nil, {"--keys", "keys.age"}} {
			_, stderr := s.deployer(exitRefused, append([]string{"etcd", "restore", file, "--yes", "--cluster", "prod"}, keys...)...)
			if !strings.Contains(stderr, "nothing was changed: ") || !strings.Contains(stderr, want) {
				t.Errorf("%s, %v: %s", file, keys, stderr)
			}
		}
	}
	_, stderrText := s.deployer(exitRefused, "etcd", "restore", "whole.db", "--yes", "--cluster", "prod")
	requireTexts(t, stderrText, "nothing was changed: ", "it has no MAC", "--unauthenticated")
	var out, stderr bytes.Buffer
	if code := run(t.Context(), []string{"etcd", "restore", "whole.db", "--yes", "--cluster", "prod", "--unauthenticated"}, strings.NewReader(""), &out, &stderr); code == exitOK || strings.Contains(stderr.String(), "nothing was changed: ") {
		t.Errorf("a whole snapshot ends with exit code %d before hosts are reached: %s", code, stderr.String())
	}
}

// TestFetchedSnapshotIsRemoved: a copy that a restore has fetched is removed after
// the restore or its resume; a file of the user stays.
func TestFetchedSnapshotIsRemoved(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	fetched, own := filepath.Join(state, "deployer/etcd-restore/1.db"), filepath.Join(state, "own.db")
	if err := os.MkdirAll(filepath.Dir(fetched), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		verb, file string
		stays      bool
	}{{"etcd-restore", fetched, false}, {"etcd-restore", fetched, false}, {"install", fetched, true}, {"etcd-restore", own, true}} {
		if c.stays {
			if err := os.WriteFile(c.file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := &runs.Run{}
		r.Verb, r.Extra = c.verb, map[string]any{"etcd_restore_snapshot": c.file}
		if err := removeFetchedSnapshot(r); err != nil {
			t.Errorf("%s of %s: %v", c.verb, c.file, err)
		}
		if _, err := os.Stat(c.file); (err == nil) != c.stays {
			t.Errorf("after %s of %s: %v", c.verb, c.file, err)
		}
	}
}

// TestCopiesOfAbandonedRestoresAreRemoved: a copy that no resume has needed for a
// week is removed; a recent one, a link, and a file of the user stay.
func TestCopiesOfAbandonedRestoresAreRemoved(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	if err := removeAbandonedSnapshots(); err != nil {
		t.Errorf("without a directory: %v", err)
	}
	dir := filepath.Join(state, "deployer/etcd-restore")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-resumableFor - time.Minute)
	for name, stays := range map[string]bool{"20260101-101502.db": false, "20260101-101502.keys.age": false, "20260101-101503.db.part": false, "20260108-101502.db": true, "own.db": true} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if stays && name != "own.db" {
			continue
		}
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeAbandonedSnapshots(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "20260108-101502.db" || filepath.Base(left[1]) != "own.db" {
		t.Errorf("%v, %v", left, err)
	}
}

func TestPrintEtcdStatus(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	members := &etcdMembers{found: map[string]etcdMemberList{cluster.EtcdOwn: {Members: []cluster.EtcdMemberState{
		{Host: "m1", Listed: true, ID: "a1", Member: "m1", Answers: true, Serves: true, Leader: true, Version: "3.6.8", Revision: 7, DBSize: 2 << 20, DBInUse: 1 << 20},
		{Host: "m2", Problem: "connection refused"},
		{Host: "m3", Listed: true, ID: "a3", Learner: true},
	}, Others: []cluster.EtcdMemberState{
		{Listed: true, ID: "a4", Member: "old", PeerURLs: []string{"https://10.0.0.9:2380"}},
	}}}}
	err := members.print(&out, []report.Row{report.Bad("etcd member", "m2", "the cluster lists no member").Advised("deployer etcd replace m2")})
	want := `HOST   MEMBER  STATE        VERSION  REVISION  DATABASE  IN USE   UNUSED
m1     a1      leader       3.6.8    7         2.0 MiB   1.0 MiB  50 %
m2     -       no member    -        -         -         -        -
m3     a3      not started  -        -         -         -        -
(old)  a4      down         -        -         -         -        -
etcd member m2: the cluster lists no member
  deployer etcd replace m2
`
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
}

// TestPrintEtcdStatusOfEvents checks that the members of both etcd clusters of a host are told apart.
func TestPrintEtcdStatusOfEvents(t *testing.T) {
	t.Parallel()
	members := &etcdMembers{}
	for _, name := range []string{cluster.EtcdEvents, cluster.EtcdOwn} {
		members.found = maps.Collect(maps.All(members.found))
		members.found[name] = etcdMemberList{Members: []cluster.EtcdMemberState{{Host: "m1", Listed: true, ID: "of-" + name}}}
	}
	var out bytes.Buffer
	if err := members.print(&out, nil); err != nil {
		t.Fatal(err)
	}
	var first []string
	for line := range strings.Lines(out.String()) {
		first = append(first, strings.Join(strings.Fields(line)[:min(2, len(strings.Fields(line)))], " "))
	}
	if want := []string{"etcd", "HOST MEMBER", "m1 of-etcd", "", "etcd-events", "HOST MEMBER", "m1 of-etcd-events"}; !slices.Equal(first, want) {
		t.Errorf("%q, want %q", first, want)
	}
	if doc := members.document(nil); doc["events"].(etcdMemberList).Members[0].ID != "of-etcd-events" || doc["members"].([]cluster.EtcdMemberState)[0].ID != "of-etcd" {
		t.Errorf("%+v", doc)
	}
}

func TestPrintReplacement(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		output engine.Output
		want   string
	}{
		"a broken member":  {engine.Output{"remove_id": "a3", "archive": true}, "- member a3, which does not serve, is removed"},
		"a serving member": {engine.Output{"remove_id": "a3", "archive": true, "serves": true}, "- member a3, which serves, is removed"},
		"a learner":        {engine.Output{"remove_id": "a3", "archive": true, "learner": true, "serves": true}, "- member a3, a learner, is removed"},
		"removed by hand":  {engine.Output{"remove_id": "", "archive": true}, "- the cluster lists no member for the host"},
	} {
		tt.output["others"] = []any{"m1", "m2"}
		var out bytes.Buffer
		(&replacement{output: tt.output}).print(&out, "m3", "/var/lib/etcd/before-1")
		want := "the etcd member of m3 is replaced; m1, m2 serve:\n  " + tt.want + "\n  ~ its data is kept as /var/lib/etcd/before-1\n  + an empty member joins as a learner, and votes when it has the data\n"
		if out.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, out.String(), want)
		}
	}
}
