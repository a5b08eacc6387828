package etcd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/report"
)

// Backups is the action `verify_etcd_backups`: it reports the last snapshot that the members
// of etcd have saved by themselves, its copy in the object store, and units that have failed.
// Problems are rows of the output, as those of `verify_etcd`.
type Backups struct {
	Target `yaml:",inline"`
	Found  string `yaml:"found" rule:"variable" doc:"Name under which the etcd hosts registered their timers and snapshots (role etcd-backup-state)." required:"true"`
}

// Check returns the rows.
func (b *Backups) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	e, err := b.resolve(actx)
	if err != nil {
		return engine.Change{}, err
	}
	rows := backups{name: nameOrOwn(b.Cluster), store: e.BackupURL}
	if !e.Backup.Scheduled() {
		return engine.NoChange(report.Output([]report.Row{report.Skip(rows.name+checkBackup, "", "cluster.etcd.backup.schedule is never")})), nil
	}
	for _, h := range Hosts(e) {
		out := actionctx.Registered(actx, h.Name, b.Found)
		text, ok := out["stdout"].(string)
		if !ok {
			continue // the report of the host says why
		}
		m, err := parseBackups(h.Name, text)
		if err != nil {
			return engine.Change{}, err
		}
		rows.members = append(rows.members, m)
	}
	return engine.NoChange(report.Output(rows.rows())), nil
}

// Apply is never needed.
func (*Backups) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// The names of the checks after that of the etcd cluster.
const (
	checkBackup      = " backup"       // of the cluster
	checkBackupTimer = " backup timer" // of a member
	checkBackupCopy  = " backup copy"  // of a member with snapshots, where there is an object store
)

// backups are the scheduled backups of an etcd cluster.
type backups struct {
	name    string          // of the etcd cluster
	store   string          // URL of the object store; empty for none
	members []memberBackups // that have answered
}

// unit returns the name of the units of the members, without its suffix.
func (b backups) unit() string { return "deployer-" + b.name + "-backup" }

// memberBackups has the snapshots that a member has saved by itself. Times are those of its host's clock.
type memberBackups struct {
	host     string
	now      time.Time
	since    time.Time // when the timer was installed; zero when it is not there
	timer    string    // state of the timer's unit: active when it is in use
	result   string    // of the last run of the service: success, or why it failed
	ended    time.Time // the last run; zero when there was none since the host has started
	interval time.Duration
	newest   *savedSnapshot // nil for none
}

// savedSnapshot is a file on a member.
type savedSnapshot struct {
	name   string
	at     time.Time
	bytes  int64
	stored bool // in the object store of the inventory
}

// parseBackups reads the lines that the role etcd-backup-state prints.
func parseBackups(host, text string) (memberBackups, error) {
	m := memberBackups{host: host}
	var elapses []time.Time
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		number, err := strconv.ParseInt(words[1], 10, 64)
		at := time.Unix(number, 0).UTC()
		if number == 0 {
			at = time.Time{}
		}
		switch words[0] {
		case "timer":
			m.timer, err = words[1], nil
		case "result":
			m.result, err = words[1], nil
		case "now":
			m.now = at
		case "since":
			m.since = at
		case "ended":
			m.ended = at
		case "elapse":
			elapses = append(elapses, at)
		case "snapshot":
			if err == nil && len(words) == 5 && (m.newest == nil || at.After(m.newest.at)) {
				m.newest = &savedSnapshot{name: words[4], at: at, stored: words[3] == "stored"}
				m.newest.bytes, err = strconv.ParseInt(words[2], 10, 64)
			}
		}
		if err != nil {
			return m, fmt.Errorf("reading the snapshots of %s: %q: %w", host, strings.TrimSpace(line), err)
		}
	}
	for i := 1; i < len(elapses); i++ {
		m.interval = max(m.interval, elapses[i].Sub(elapses[i-1]))
	}
	return m, nil
}

// rows returns a row for the whole etcd cluster, and one or two for each member. One member saves at a
// time, so the newest snapshot of all is that of the cluster. It is too old when more than two intervals
// have passed.
func (b backups) rows() []report.Row {
	var newest *savedSnapshot
	var of memberBackups
	for _, m := range b.members {
		if m.newest != nil && (newest == nil || m.newest.at.After(newest.at)) {
			newest, of = m.newest, m
		}
	}
	if len(b.members) == 0 {
		return []report.Row{report.Bad(b.name+checkBackup, "", "no etcd host has reported its snapshots")}
	}
	rows := []report.Row{b.clusterRow(of, newest)}
	for _, m := range b.members {
		rows = append(rows, b.timerRow(m, newest))
		if b.store != "" && m.newest != nil {
			rows = append(rows, b.copyRow(m))
		}
	}
	return rows
}

// clusterRow reports the newest snapshot, which is of a member; nil for none.
func (b backups) clusterRow(of memberBackups, newest *savedSnapshot) report.Row {
	check := b.name + checkBackup
	advice := "look at journalctl -u " + b.unit() + " on the etcd hosts; deployer etcd backup saves a snapshot now"
	if b.name == cluster.EtcdCalico {
		advice += ", with --calico"
	}
	if newest == nil {
		first := b.members[0]
		for _, m := range b.members {
			if !m.since.IsZero() && m.since.Before(first.since) {
				first = m
			}
		}
		if first.interval > 0 && !first.since.IsZero() && first.now.Sub(first.since) > 2*first.interval {
			return report.Bad(check, "", "no scheduled snapshot was ever saved, and one is due every %s", Span(first.interval)).Advised(advice)
		}
		return report.Skip(check, "", "no scheduled snapshot was due yet")
	}
	age := of.now.Sub(newest.at)
	text := fmt.Sprintf("%s on %s, %.1f MiB, %s old", newest.name, of.host, float64(newest.bytes)/(1<<20), Span(age))
	if of.interval > 0 {
		text += "; one is due every " + Span(of.interval)
	}
	if of.interval > 0 && age > 2*of.interval {
		return report.Bad(check, "", "the last snapshot is older than two intervals: %s", text).Advised(advice)
	}
	return report.OK(check, "", "%s", text)
}

// timerRow reports the timer and the last run of the service. A failure counts until some
// member has saved a newer snapshot.
func (b backups) timerRow(m memberBackups, newest *savedSnapshot) report.Row {
	check := b.name + checkBackupTimer
	switch {
	case m.timer != "active":
		return report.Bad(check, m.host, "the timer %s is %s", b.unit(), m.timer).Advised("deployer install starts it")
	case m.result != "success" && (newest == nil || !newest.at.After(m.ended)):
		return report.Bad(check, m.host, "the last run failed (%s): its snapshot was not saved, or not copied", m.result).
			Advised("look at journalctl -u " + b.unit() + " on the host; systemctl start " + b.unit() + " repeats it")
	case m.ended.IsZero():
		return report.OK(check, m.host, "active; it has not run since the host started")
	}
	return report.OK(check, m.host, "active; the last run was %s ago", Span(m.now.Sub(m.ended)))
}

// copyRow reports whether the newest snapshot of a member is in the object store.
func (b backups) copyRow(m memberBackups) report.Row {
	check := b.name + checkBackupCopy
	if !m.newest.stored {
		return report.Bad(check, m.host, "%s is not in %s", m.newest.name, b.store).
			Advised("look at journalctl -u " + b.unit() + " on the host; the next run copies it, systemctl start " + b.unit() + " at once")
	}
	return report.OK(check, m.host, "%s is in %s", m.newest.name, b.store)
}

// Span formats a duration in its largest units: 45m, 6h, 2d3h.
func Span(d time.Duration) string {
	d = d.Round(time.Minute)
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0 && hours > 0:
		return fmt.Sprintf("%dd%dh", days, hours)
	case days > 0:
		return fmt.Sprintf("%dd", days)
	case hours > 0 && minutes > 0:
		return fmt.Sprintf("%dh%dm", hours, minutes)
	case hours > 0:
		return fmt.Sprintf("%dh", hours)
	}
	return fmt.Sprintf("%dm", minutes)
}
