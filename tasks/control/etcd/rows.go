package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/tasks/control/report"
)

// Rows returns the health of the etcd cluster with a name as report rows: one for each host, and rows
// of the cluster for the leader, the serving members and alarms. While a majority serves, a
// member of a repaired host that does not serve is no problem.
func Rows(ctx context.Context, open Opener, name string, hosts []Host, repaired ...string) []report.Row {
	survey := Take(ctx, open, hosts)
	checks := checksOf(name)
	var rows []report.Row
	exempt := map[uint64]bool{}
	for _, h := range hosts {
		row := checks.member(survey, h)
		if entry, listed := survey.Entry(h); !row.OK && listed && slices.Contains(repaired, h.Name) {
			exempt[entry.ID] = true
			row = report.Skip(row.Check, row.Host, "%s; this run repairs it first", row.Detail)
		}
		rows = append(rows, row)
	}
	if survey.Entries == nil {
		return append(rows, report.Bad(checks.name, "", "%v: a majority of the members is down", errNoMember).
			Advised("start "+checks.name+" on the hosts above; journalctl -u "+checks.name+" tells why it is down"))
	}
	return append(rows, checks.leader(survey), checks.members(survey, exempt), checks.alarms(ctx, open, survey, hosts))
}

// rowNames has the words of the rows of one etcd cluster.
type rowNames struct {
	name string // begins the name of each check
	flag string // for commands of the advice
}

func checksOf(name string) rowNames {
	switch name {
	case cluster.EtcdEvents:
		return rowNames{name, " --events"}
	case cluster.EtcdCalico:
		return rowNames{name, " --calico"}
	}
	return rowNames{cluster.EtcdOwn, ""}
}

func (c rowNames) member(s *Survey, h Host) report.Row {
	check, replace := c.name+" member", "deployer etcd replace "+h.Name+c.flag
	state := Judge(s, h)
	if _, listed := s.Entry(h); s.Entries != nil && !listed {
		return report.Bad(check, h.Name, "the cluster lists no member for this host: it was removed, or never added").
			Advised(replace + " puts its data aside and adds it again; deployer apply adds a host that has no data")
	}
	if !state.OK {
		return report.Bad(check, h.Name, "%s", state.Text).
			Advised("look at journalctl -u " + c.name + " on the host; " + replace + " replaces the member when its data is damaged")
	}
	if state.Learner {
		return report.Bad(check, h.Name, "the member is a learner and does not vote").Advised("run install again, which promotes the learner when it has caught up; " + replace + " replaces it")
	}
	status := s.Hosts[h.Name].Status
	return report.OK(check, h.Name, "etcd %s serves, database %s, %s in use", status.Version, Mebibytes(status.DBSize), Mebibytes(status.DBInUse))
}

// Mebibytes returns a number of bytes as text in MiB.
func Mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func (c rowNames) leader(s *Survey) report.Row {
	leaders := map[uint64]bool{}
	for _, l := range s.Hosts {
		if l.Answers {
			leaders[l.Status.Leader] = true
		}
	}
	if len(leaders) != 1 {
		return report.Bad(c.name+" leader", "", "members name %d different leaders", len(leaders)).Advised("wait for the election to end; if it does not, look at the network between the members")
	}
	for id := range leaders {
		if id != 0 {
			return report.OK(c.name+" leader", "", "%s", s.leader(id))
		}
	}
	return report.Bad(c.name+" leader", "", "there is none")
}

func (c rowNames) members(s *Survey, exempt map[uint64]bool) report.Row {
	var broken []string
	for _, e := range s.Entries {
		if look, ok := s.byID(e.ID); !exempt[e.ID] && (!ok || look.Err != nil) {
			broken = append(broken, nameOf(e))
		}
	}
	slices.Sort(broken)
	if len(broken) > 0 {
		return report.Bad(c.name+" members", "", "%d of %d serve; not %s", len(s.Entries)-len(broken), len(s.Entries), strings.Join(broken, ", "))
	}
	return report.OK(c.name+" members", "", "%d of %d serve", len(s.Entries)-len(exempt), len(s.Entries))
}

func nameOf(e Entry) string {
	if e.Name != "" {
		return e.Name
	}
	return fmt.Sprintf("member %x, which never started", e.ID)
}

// alarms lists the active alarms.
func (s *Survey) alarms(ctx context.Context, open Opener, hosts []Host) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	member, err := s.serving(open, hosts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = member.Close() }()
	return member.Alarms(ctx)
}

func (c rowNames) alarms(ctx context.Context, open Opener, s *Survey, hosts []Host) report.Row {
	alarms, err := s.alarms(ctx, open, hosts)
	switch {
	case err != nil:
		return report.Bad(c.name+" alarms", "", "%v", err)
	case len(alarms) > 0:
		return report.Bad(c.name+" alarms", "", "%s", strings.Join(alarms, ", ")).
			Advised("NOSPACE: delete what filled the database, then deployer etcd defrag" + c.flag + " frees the space and ends the alarm; CORRUPT: deployer etcd replace HOST" + c.flag)
	}
	return report.OK(c.name+" alarms", "", "none")
}
