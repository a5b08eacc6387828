package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/ci/change"
	"deployer/inventory"
	"deployer/strictyaml"
)

// Finding is a broken rule.
type Finding struct {
	Rule    string         `json:"rule"`
	Level   Level          `json:"level"`
	Message string         `json:"message"` // what is wrong
	Advice  string         `json:"advice"`  // what to do
	Pos     strictyaml.Pos `json:"pos"`
}

// String returns "file:line:col: rule: message; advice".
func (f Finding) String() string {
	text := f.Rule + ": " + f.Message
	if f.Advice != "" {
		text += "; " + f.Advice
	}
	if pos := f.Pos.String(); pos != "" {
		text = pos + ": " + text
	}
	return text
}

// Input has the change and the facts that the rules judge.
type Input struct {
	Change   change.Change
	Old, New *change.Site // nil for a revision without the cluster
	Rules    Rules
	Now      time.Time
	// Rollback is true for a rollback to an earlier revision, which may lower versions.
	Rollback bool
	// Plan is the digest of the plans of all clusters of the push, and Approved the digest
	// that was approved; Plan is empty as long as there is no plan.
	Plan, Approved string
	// Deploying is true right before a deploy, when there must be a plan to approve.
	Deploying bool
}

// Check returns the findings of all rules, in the order of the rules.
func Check(in Input) []Finding {
	var out []Finding
	add := func(rule string, level Level, found []Finding) {
		for _, f := range found {
			if level != Off {
				f.Rule, f.Level = rule, level
				out = append(out, f)
			}
		}
	}
	r := in.Rules
	add("supported", Block, supported(in))
	level := Block
	if in.Change.First {
		level = Advise // apply installs the cluster without them
	}
	add("stranded", level, stranded(in.Change))
	add("quorum", or(r.Quorum.Level, Block), quorum(in))
	add("data_loss", or(r.DataLoss.Level, Block), dataLoss(in))
	add("control_plane", or(r.ControlPlane.Level, Block), controlPlane(in))
	add("blast_radius", or(r.BlastRadius.Level, Block), blastRadius(in))
	add("approved_plan", or(r.ApprovedPlan.Level, Off), approvedPlan(in))
	return out
}

func or(given, otherwise Level) Level {
	if given == "" {
		return otherwise
	}
	return given
}

// Blocked reports whether a finding blocks.
func Blocked(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Level == Block })
}

// supported finds changes that no sequence of verbs carries out.
func supported(in Input) (out []Finding) {
	c := in.Change
	first := func(hosts []change.HostRoles) strictyaml.Pos { return hosts[0].Pos }
	switch {
	case c.Removed:
		return []Finding{{Message: fmt.Sprintf("the cluster %s is in no inventory any more, and a push never removes a cluster", in.Old.Cluster),
			Advice: "restore its inventory; or remove the cluster with `deployer reset` and list the path of its inventory under removed in deployer.ci.yaml"}}
	case c.Renamed:
		out = append(out, Finding{Message: fmt.Sprintf("the cluster %s would get the name %s, and a cluster keeps its name", in.Old.Cluster, in.New.Cluster),
			Advice: "write the former name again", Pos: in.New.Version})
	}
	if len(c.Versions) > 0 && len(c.Joining) > 0 {
		out = append(out, Finding{Message: "versions change and hosts join in one push: a host joins a cluster whose versions are its own",
			Advice: "push the new hosts first, then the versions", Pos: first(c.Joining)})
	}
	if len(c.Demoted) > 0 && len(c.Leaving)+len(c.Joining) > 0 {
		out = append(out, Finding{Message: "masters become minions while other hosts join or leave",
			Advice: "push the new roles alone", Pos: first(c.Demoted)})
	}
	for _, h := range c.Unsupported {
		out = append(out, Finding{Message: fmt.Sprintf("%s would lose the role %s and stay in the cluster", h.Host, strings.Join(h.Roles, ", ")),
			Advice: "take the host out with one push and add it with another", Pos: h.Pos})
	}
	if lower := slices.IndexFunc(c.Versions, change.Version.Lower); lower >= 0 && !in.Rollback {
		v := c.Versions[lower]
		out = append(out, Finding{Message: fmt.Sprintf("%s would go from %s back to %s", v.Component, v.From, v.To),
			Advice: "versions are lowered by `deployer ci rollback` or `deployer rollback` only", Pos: v.Pos})
	}
	return out
}

// stranded finds hosts that an interrupted deploy may have left and that no step takes out.
func stranded(c change.Change) []Finding {
	if len(c.Stranded) == 0 {
		return nil
	}
	hosts := make([]string, len(c.Stranded))
	for i, h := range c.Stranded {
		hosts[i] = h.Host
	}
	return []Finding{{Message: fmt.Sprintf("an interrupted deploy may have left %s in the cluster, and the inventory does not name them", inventory.CompressText(hosts)),
		Advice: "push an inventory with these hosts and let it be deployed, or take them out with the inventory that has them: `deployer scale-down " + strings.Join(hosts, " ") + " -i INVENTORY`, with --dead if they do not answer", Pos: c.Stranded[0].Pos}}
}

// quorum finds pushes after which less than a majority of the members of etcd is unchanged.
func quorum(in Input) []Finding {
	if in.Old == nil || in.New == nil {
		return nil
	}
	members := in.Old.With(inventory.Etcd)
	var lost []string
	var pos strictyaml.Pos
	for _, list := range [][]change.HostRoles{in.Change.Leaving, in.Change.Demoted, in.Change.Unsupported, in.Change.Readdressed} {
		for _, h := range list {
			if slices.Contains(members, h.Host) && !slices.Contains(lost, h.Host) {
				lost = append(lost, h.Host)
				pos = h.Pos
			}
		}
	}
	needed := len(members)/2 + 1
	if len(lost) == 0 || len(members)-len(lost) >= needed {
		return nil
	}
	return []Finding{{
		Message: fmt.Sprintf("etcd would lose its quorum: %s of %s leave or get another address, %d of %d members stay, and %d are needed",
			inventory.CompressText(lost), inventory.CompressText(members), len(members)-len(lost), len(members), needed),
		Advice: fmt.Sprintf("change at most %d at a time, and wait until the push is deployed", len(members)-needed), Pos: pos,
	}}
}

// dataLoss returns a finding for each host with data that leaves.
func dataLoss(in Input) (out []Finding) {
	if in.Old == nil {
		return nil
	}
	for _, pattern := range in.Rules.DataLoss.Hosts {
		hosts, err := match(pattern, in.Old)
		if err != nil && in.New != nil {
			if _, unknown := match(pattern, in.New); unknown == nil {
				continue // hosts that join cannot leave
			}
		}
		if err != nil {
			out = append(out, Finding{Message: fmt.Sprintf("data_loss.hosts: %v", err), Advice: "name hosts or groups of the inventory"})
			continue
		}
		for _, h := range in.Change.Leaving {
			if slices.Contains(hosts, h.Host) {
				out = append(out, Finding{Message: fmt.Sprintf("%s leaves and holds data (data_loss.hosts: %s)", h.Host, pattern),
					Advice: "move its data away, and take it out of data_loss.hosts with a push of its own", Pos: h.Pos})
			}
		}
	}
	return out
}

// match returns the hosts of a site that match a pattern.
func match(pattern string, s *change.Site) ([]string, error) {
	all := make([]string, len(s.Hosts))
	for i, h := range s.Hosts {
		all[i] = h.Name
	}
	return inventory.Match(pattern, all, s.Groups)
}

// controlPlane finds changes of masters and etcd outside of the windows.
func controlPlane(in Input) []Finding {
	rule := in.Rules.ControlPlane
	if len(rule.Windows) == 0 || in.Old == nil || slices.ContainsFunc(rule.Windows, func(w Window) bool { return w.Holds(in.Now) }) {
		return nil
	}
	reason, pos, touched := touchesControlPlane(in)
	if !touched {
		return nil
	}
	windows := make([]string, len(rule.Windows))
	for i, w := range rule.Windows {
		windows[i] = w.String()
	}
	return []Finding{{Message: fmt.Sprintf("%s reaches masters or members of etcd outside of their window", reason),
		Advice: "push it again within " + strings.Join(windows, " or "), Pos: pos}}
}

// touchesControlPlane returns the first reason why a change reaches masters or etcd.
func touchesControlPlane(in Input) (reason string, pos strictyaml.Pos, touched bool) {
	c := in.Change
	for _, list := range [][]change.HostRoles{c.Leaving, c.Demoted, c.Joining, c.Unsupported, c.Readdressed} {
		for _, h := range list {
			if slices.Contains(h.Roles, inventory.Master) || slices.Contains(h.Roles, inventory.Etcd) {
				return h.Host + " (" + strings.Join(h.Roles, ", ") + ")", h.Pos, true
			}
		}
	}
	if len(c.Versions) > 0 {
		v := c.Versions[0]
		return fmt.Sprintf("%s %s", v.Component, v.To), v.Pos, true
	}
	if len(c.Settings) > 0 {
		return c.Settings[0].Key, c.Settings[0].Pos, true
	}
	for _, s := range c.HostSettings {
		if h, _ := in.New.Host(s.Host); h.ControlPlane() {
			return s.Host + ": " + s.Key, s.Pos, true
		}
	}
	for _, r := range c.Playbooks {
		for _, host := range r.Hosts {
			if h, _ := in.New.Host(host); r.Differs && h.ControlPlane() {
				return "the playbook " + r.File + " on " + host, strictyaml.Pos{File: r.File}, true
			}
		}
	}
	return "", strictyaml.Pos{}, false
}

// blastRadius finds changes of too many hosts.
func blastRadius(in Input) []Finding {
	rule := in.Rules.BlastRadius
	if rule.Limit == nil || in.Old == nil || in.New == nil {
		return nil
	}
	touched, total := in.Change.Touched(in.Old, in.New), len(in.Old.Hosts)
	most := rule.Limit.Of(total)
	if len(touched) <= most {
		return nil
	}
	var pos strictyaml.Pos
	switch c := in.Change; {
	case len(c.Settings) > 0:
		pos = c.Settings[0].Pos
	case len(c.Versions) > 0:
		pos = c.Versions[0].Pos
	case len(c.HostSettings) > 0:
		pos = c.HostSettings[0].Pos
	case c.Is(change.KindPlaybooks):
		pos.File = c.Playbooks[slices.IndexFunc(c.Playbooks, func(r change.PlaybookRun) bool { return r.Differs })].File
	default:
		for _, list := range [][]change.HostRoles{c.Joining, c.Leaving, c.Demoted, c.Unsupported, c.Readdressed} {
			if len(list) > 0 {
				pos = list[0].Pos
				break
			}
		}
	}
	return []Finding{{Message: fmt.Sprintf("the push touches %d hosts, and blast_radius allows %d (%s of %d)", len(touched), most, rule.Limit, total),
		Advice: "divide it, or raise the limit with a push of its own", Pos: pos}}
}

// approvedPlan finds plans whose digest is not the approved one.
func approvedPlan(in Input) []Finding {
	switch {
	case in.Plan == "" && in.Deploying:
		return []Finding{{Message: "there is no plan that could be approved, because no stage has made one",
			Advice: "add a stage with uses: plan before the deploy"}}
	case in.Plan == "" || in.Plan == in.Approved:
		return nil
	case in.Approved == "":
		return []Finding{{Message: fmt.Sprintf("the plan of the push, %s, is not approved", in.Plan),
			Advice: "review it, then run the pipeline with --approve " + in.Plan}}
	}
	return []Finding{{Message: fmt.Sprintf("the plan of the push is %s, and %s was approved: a cluster or the configuration has changed since", in.Plan, in.Approved),
		Advice: "review the plan again, then run the pipeline with --approve " + in.Plan}}
}
