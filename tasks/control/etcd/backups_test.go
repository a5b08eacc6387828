package etcd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/tasks/control/report"
)

// reportOfMember returns the output of a member whose clock says 1000000 and whose
// snapshots are due every six hours. Changes replace lines by their first word, or
// add lines.
func reportOfMember(changes ...string) string {
	lines := []string{"now 1000000", "timer active", "since 10000", "result success", "ended 998200"}
	for i := range 5 {
		lines = append(lines, fmt.Sprintf("elapse %d", 1000000+i*21600))
	}
	for _, change := range changes {
		word, _, _ := strings.Cut(change, " ")
		found := false
		for i, line := range lines {
			if strings.HasPrefix(line, word+" ") {
				lines[i], found = change, true
			}
		}
		if !found {
			lines = append(lines, change)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestBackupRows(t *testing.T) {
	t.Parallel()
	const saved, copied = "snapshot 998200 2097152 none scheduled-a.db", "snapshot 998200 2097152 stored scheduled-a.db"
	for name, tt := range map[string]struct {
		reports map[string]string
		store   string
		want    []string // rows with problems; the first row when there is none
	}{
		"one member saved a snapshot": {map[string]string{"m1": reportOfMember(saved), "m2": reportOfMember()}, "",
			[]string{"etcd backup : scheduled-a.db on m1, 2.0 MiB, 30m old; one is due every 6h"}},
		"saved and copied": {map[string]string{"m1": reportOfMember(copied)}, "s3",
			[]string{"etcd backup : scheduled-a.db on m1"}},
		"older than an interval": {map[string]string{"m1": reportOfMember("snapshot 960000 1 none scheduled-a.db")}, "",
			[]string{"etcd backup : scheduled-a.db on m1, 0.0 MiB, 11h7m old"}},
		"older than two intervals": {map[string]string{"m1": reportOfMember("snapshot 950000 1 none scheduled-a.db")}, "",
			[]string{"etcd backup : the last snapshot is older than two intervals"}},
		"no snapshot was due yet": {map[string]string{"m1": reportOfMember("since 999000")}, "",
			[]string{"etcd backup : no scheduled snapshot was due yet"}},
		"no snapshot for a long time": {map[string]string{"m1": reportOfMember(), "m2": reportOfMember("since 999000")}, "",
			[]string{"etcd backup : no scheduled snapshot was ever saved"}},
		"the copy failed": {map[string]string{"m1": reportOfMember(saved, "result exit-code", "ended 998210"), "m2": reportOfMember()}, "s3",
			[]string{"etcd backup timer m1: the last run failed (exit-code)", "etcd backup copy m1: scheduled-a.db is not in s3"}},
		"a failure before the last snapshot": {map[string]string{"m1": reportOfMember("result exit-code", "ended 900000"), "m2": reportOfMember(saved)}, "",
			[]string{"etcd backup : scheduled-a.db on m2"}},
		"no timer": {map[string]string{"m1": reportOfMember(saved, "timer inactive", "since 0")}, "",
			[]string{"etcd backup timer m1: the timer deployer-etcd-backup is inactive"}},
		"no host reports snapshots": {nil, "", []string{"etcd backup : no etcd host has reported its snapshots"}},
	} {
		s := run(t, newFake("m1", "m2", "m3"), "m1", map[string]bool{"m1": true, "m2": true, "m3": true})
		var members []memberBackups
		for _, host := range []string{"m1", "m2"} {
			if text, ok := tt.reports[host]; ok {
				s.Results[host]["backups"] = engine.Output{"stdout": text}
				m, err := parseBackups(host, text)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				members = append(members, m)
			}
		}
		rows := backups{"etcd", tt.store, members}.rows()
		shown := report.Problems(rows)
		if len(shown) == 0 {
			shown = rows[:1]
		}
		for i, row := range shown {
			if text := row.Check + " " + row.Host + ": " + row.Detail; i >= len(tt.want) || !strings.HasPrefix(text, tt.want[i]) {
				t.Errorf("%s: row %q, want %q", name, text, tt.want)
			}
		}
		if len(shown) != len(tt.want) {
			t.Errorf("%s: %d rows, want %q", name, len(shown), tt.want)
		}
		change, err := (&Backups{Found: "backups"}).Check(t.Context(), s)
		if got := report.OfAction("", change.Output); tt.store == "" && (err != nil || len(got) != len(rows)) {
			t.Errorf("%s: the action has %d rows, want %d: %v", name, len(got), len(rows), err)
		}
	}
}

func TestReportsOfMembersThatAreDamaged(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"now soon\n", "snapshot x 1 none a.db\n", "snapshot 1 y none a.db\n"} {
		if _, err := parseBackups("m1", text); err == nil || !strings.Contains(err.Error(), "reading the snapshots of m1") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestBackupsOfCalico: rows and advice name the etcd cluster.
func TestBackupsOfCalico(t *testing.T) {
	t.Parallel()
	m, err := parseBackups("m1", reportOfMember("result exit-code"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range report.Problems(backups{"etcd-calico", "", []memberBackups{m}}.rows()) {
		got = append(got, row.Check+": "+row.Fix)
	}
	want := []string{
		"etcd-calico backup: look at journalctl -u deployer-etcd-calico-backup on the etcd hosts; deployer etcd backup saves a snapshot now, with --calico",
		"etcd-calico backup timer: look at journalctl -u deployer-etcd-calico-backup on the host; systemctl start deployer-etcd-calico-backup repeats it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := (&Backups{Target: Target{Cluster: "etcd-calico"}, Found: "backups"}).Check(t.Context(), run(t, newFake("m1"), "m1", nil)); err == nil || !strings.Contains(err.Error(), "no etcd cluster") {
		t.Errorf("a cluster without it: %v", err)
	}
}
